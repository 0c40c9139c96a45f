package main

import (
	"context"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
)

// link holds the connections of a replica to the nodes. They can be cut as if its host had died.
type link struct {
	mu    sync.Mutex // guards the fields below
	dead  bool
	conns map[net.Conn]struct{}
}

func newLink() *link { return &link{conns: make(map[net.Conn]struct{})} }

// nodes adds clients like these to the module, and closes them after it has stopped.
func (l *link) nodes(clients []redis.UniversalClient) fx.Option {
	var all []fx.Option
	for _, client := range clients {
		options := *client.(*redis.Client).Options()
		options.Dialer = l.through(options.Dialer)
		all = append(all, redlockfx.Node(func(lc fx.Lifecycle) redis.UniversalClient {
			client := redis.NewClient(&options)
			lc.Append(fx.StopHook(client.Close))
			return client
		}))
	}
	return fx.Options(all...)
}

// cut closes all connections, and prevents new ones.
func (l *link) cut() {
	l.mu.Lock()
	conns := l.conns
	l.dead, l.conns = true, nil
	l.mu.Unlock()
	for conn := range conns {
		_ = conn.Close() // dead either way
	}
}

// through makes dial use the link.
func (l *link) through(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		l.mu.Lock()
		dead := l.dead
		l.mu.Unlock()
		if dead {
			return nil, net.ErrClosed
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.dead {
			_ = conn.Close() // cut while it was dialed
			return nil, net.ErrClosed
		}
		l.conns[conn] = struct{}{}
		return conn, nil
	}
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)
