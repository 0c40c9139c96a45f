//go:build unix

package redisproc_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

// short is how long a test waits for an answer that must not come.
const short = 200 * time.Millisecond

// long is how long a test waits for what must happen before it calls it missing.
const long = 20 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		beParent()
	}
	testmain.Run(m)
}

func start(t *testing.T, n int, args ...string) *redisproc.Cluster {
	t.Helper()
	c, err := redisproc.Start(t.Context(), n, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func proxy(t *testing.T, n *redisproc.Node) *redisproc.Proxy {
	t.Helper()
	p, err := n.Proxy()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: addr, DialerRetries: 1, MaxRetries: -1, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func ping(t *testing.T, c *redis.Client, within time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return c.Ping(ctx).Err()
}

func mustPing(t *testing.T, c *redis.Client) {
	t.Helper()
	if err := ping(t, c, long); err != nil {
		t.Fatalf("PING: %v", err)
	}
}

// wire is a bare connection, where each byte is the test's own.
type wire struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func dial(t *testing.T, addr string) wire {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return wire{conn, t, bufio.NewReader(conn)}
}

func (w wire) send(command string) {
	w.t.Helper()
	if _, err := w.Write([]byte(command + "\r\n")); err != nil {
		w.t.Fatalf("%s: %v", command, err)
	}
}

// line reads one line of a reply.
func (w wire) line(within time.Duration) (string, error) {
	w.t.Helper()
	if err := w.SetReadDeadline(time.Now().Add(within)); err != nil {
		w.t.Fatal(err)
	}
	return w.r.ReadString('\n')
}

// silent fails the test if anything comes, the end of the connection included.
func (w wire) silent() {
	w.t.Helper()
	if got, err := w.line(short); !errors.Is(err, os.ErrDeadlineExceeded) {
		w.t.Fatalf("reply %q (%v), want silence", got, err)
	}
}

func (w wire) wants(reply string) {
	w.t.Helper()
	if got, err := w.line(long); got != reply+"\r\n" {
		w.t.Fatalf("reply %q (%v), want %q", got, err, reply)
	}
}
