package redlock_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

// slowOnce delivers the first request that contains a text later than all others.
type slowOnce struct {
	text  string
	delay time.Duration
	once  sync.Once
}

type slowConn struct {
	net.Conn
	slow *slowOnce
}

func (c slowConn) Write(b []byte) (int, error) {
	held := false
	if bytes.Contains(b, []byte(c.slow.text)) {
		c.slow.once.Do(func() {
			held = true
			late := bytes.Clone(b)
			time.AfterFunc(c.slow.delay, func() { _, _ = c.Conn.Write(late) })
		})
	}
	if held {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A repair that is still on its way when the next one has been answered is waited for by the release too.
func TestLease_ReleaseLeavesNothingOfAnEarlierRepair(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		links := c.Links()
		defer links.Close()
		slow := &slowOnce{text: "\r\n3\r\n$16\r\n{redlock}:lock:x\r\n", delay: nodeTimeout / 2}
		slow.once.Do(func() {}) // not the grant
		options := links.Options(2)
		dial := options.Dialer
		options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return slowConn{conn, slow}, err
		}
		clients := links.Clients()
		clients[2] = redis.NewClient(options)
		defer clients[2].Close()
		l, err := redlock.New(clients, redlock.WithTTL(ttl))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()

		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		c.drop("x", 2)
		slow.once = sync.Once{}
		for range 2 {
			if err := lease.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * nodeTimeout)
		if c.keys("x") != 0 {
			t.Errorf("still on %d nodes", c.keys("x"))
		}
	})
}
