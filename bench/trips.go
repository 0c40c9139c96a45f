package main

import (
	"cmp"
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// trips are the round trips on all connections of a peer to the nodes, as its sockets see them.
type trips struct {
	mu  sync.Mutex
	all []span // from the first byte of a request to the first byte of its answer
}

// openWatched opens a Locker whose connections are watched.
func (b *bench) openWatched(ctx context.Context) (peer, *trips) {
	t := new(trips)
	p := b.open(ctx, 1, func(addrs []string) peer {
		var clients []redis.UniversalClient
		for _, addr := range addrs {
			clients = append(clients, redis.NewClient(&redis.Options{Addr: addr, Dialer: t.dial}))
		}
		return lockerOn(clients)
	})[0]
	return p, t
}

func (t *trips) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: conn, trips: t}, nil
}

// watchedConn notes when requests are sent and answers come. Requests that are sent before an answer has come are one
// round trip.
type watchedConn struct {
	net.Conn
	trips *trips
	mu    sync.Mutex
	sent  time.Time // of the first request without an answer; zero: there is none
}

func (c *watchedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.sent.IsZero() {
		c.sent = time.Now()
	}
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	now := time.Now()
	c.mu.Lock()
	sent := c.sent
	c.sent = time.Time{}
	c.mu.Unlock()
	if n > 0 && !sent.IsZero() {
		c.trips.mu.Lock()
		c.trips.all = append(c.trips.all, span{sent, now})
		c.trips.mu.Unlock()
	}
	return n, err
}

// between returns the largest number of sequential round trips: sent after from, answered before to, and each sent
// after the previous one was answered. It forgets all round trips so far.
func (t *trips) between(from, to time.Time) (n int) {
	t.mu.Lock()
	all := t.all
	t.all = nil
	t.mu.Unlock()
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.to.Compare(b.to), a.from.Compare(b.from)) })
	for _, s := range all {
		if s.from.After(from) && s.to.Before(to) {
			n, from = n+1, s.to
		}
	}
	return n
}
