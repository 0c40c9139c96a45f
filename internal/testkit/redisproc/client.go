//go:build unix

package redisproc

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

func (n *Node) options() *redis.Options {
	return &redis.Options{
		Addr: n.addr, DialerRetries: 1, MaxRetries: -1, ContextTimeoutEnabled: true,
	}
}

// withClient calls talk with a client of the node, and closes the client when talk returns.
func (n *Node) withClient(talk func(*redis.Client) error) error {
	client := redis.NewClient(n.options())
	if err := errors.Join(talk(client), client.Close()); err != nil {
		return fmt.Errorf("node %s: %w", n.addr, err)
	}
	return nil
}
