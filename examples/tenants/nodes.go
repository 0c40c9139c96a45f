package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlocktest"
)

// nodes are three Redis nodes in this process, which other processes reach by TCP.
type nodes struct {
	urls      []string
	embedded  *redlocktest.Nodes
	listeners []net.Listener
	serving   sync.WaitGroup
	ctx       context.Context // done when they are closed
	stop      context.CancelFunc
}

func startNodes() (*nodes, error) {
	embedded, err := redlocktest.Start(3, lockOptions()...)
	if err != nil {
		return nil, err
	}
	n := &nodes{embedded: embedded}
	n.ctx, n.stop = context.WithCancel(context.Background())
	for _, client := range embedded.Process().Clients() {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, n.close())
		}
		n.listeners = append(n.listeners, listener)
		n.urls = append(n.urls, "redis://"+listener.Addr().String())
		n.serving.Go(func() { n.serve(listener, client.(*redis.Client).Options()) }) // ends when the listener is closed
	}
	return n, nil
}

// serve passes the connections of a listener on to a node.
func (n *nodes) serve(listener net.Listener, node *redis.Options) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		to, err := node.Dialer(n.ctx, node.Network, node.Addr)
		if err != nil {
			_ = from.Close()
			continue
		}
		end := func() { // both ways
			_, _ = from.Close(), to.Close()
		}
		stop := context.AfterFunc(n.ctx, end)
		n.serving.Go(func() { defer stop(); defer end(); _, _ = io.Copy(to, from) }) // ends with either end, or with the nodes
		n.serving.Go(func() { defer end(); _, _ = io.Copy(from, to) })
	}
}

// close ends all connections and the nodes.
func (n *nodes) close() error {
	var problems []error
	for _, listener := range n.listeners {
		problems = append(problems, listener.Close())
	}
	n.stop()
	n.serving.Wait()
	n.embedded.Close()
	return errors.Join(problems...)
}
