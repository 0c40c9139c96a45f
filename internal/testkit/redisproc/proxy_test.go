//go:build unix

package redisproc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

func TestProxy_PassesEverythingThrough(t *testing.T) {
	c := start(t, 1)
	through := client(t, proxy(t, c.Node(0)).Addr())
	big := strings.Repeat("0123456789", 300_000)

	if err := through.Set(t.Context(), "big", big, 0).Err(); err != nil {
		t.Fatal(err)
	}
	got, err := through.Get(t.Context(), "big").Result()
	if err != nil || got != big {
		t.Errorf("%d bytes (%v), want the %d sent", len(got), err, len(big))
	}
}

func TestDelay_HoldsBothDirectionsOfAnOpenConnection(t *testing.T) {
	const delay = 50 * time.Millisecond
	c := start(t, 1)
	p := proxy(t, c.Node(0))
	through := dial(t, p.Addr())
	through.send("PING")
	through.wants("+PONG")

	p.Delay(delay)
	began := time.Now()
	through.send("PING")
	through.wants("+PONG")
	if took := time.Since(began); took < 2*delay {
		t.Errorf("PING took %v, want at least %v", took, 2*delay)
	}
}

func TestDelay_DoesNotAddUpOverAStream(t *testing.T) {
	const delay, messages = 100 * time.Millisecond, 20
	c := start(t, 1)
	p := proxy(t, c.Node(0))
	direct, through := client(t, c.Node(0).Addr()), subscriber(t, p)

	p.Delay(delay)
	began := time.Now()
	for range messages {
		if err := direct.Publish(t.Context(), "news", "x").Err(); err != nil {
			t.Fatal(err)
		}
	}
	for range messages * 7 { // *3, $7, message, $4, news, $1, x
		reply(t, through)
	}
	if took := time.Since(began); took < delay || took > messages*delay/2 {
		t.Errorf("%d messages sent at once took %v, want little more than %v", messages, took, delay)
	}
}

func TestHeal_DeliversDelayedBytesAtOnce(t *testing.T) {
	c := start(t, 1)
	p := proxy(t, c.Node(0))
	p.Delay(time.Hour)
	through := dial(t, p.Addr())
	through.send("PING")

	p.Heal()
	through.wants("+PONG")
}

func TestCut_HoldsBytesUntilHeal(t *testing.T) {
	c := start(t, 1)
	p := proxy(t, c.Node(0))
	direct, open := client(t, c.Node(0).Addr()), dial(t, p.Addr())
	open.send("PING")
	open.wants("+PONG")

	p.Cut()
	fresh := dial(t, p.Addr())
	for _, w := range []wire{open, fresh} {
		w.send("INCR n")
		w.silent()
	}
	if err := direct.Get(t.Context(), "n").Err(); !errors.Is(err, redis.Nil) {
		t.Fatalf("key on the node during the cut: %v, want %v", err, redis.Nil)
	}

	p.Heal()
	if got := reply(t, open) + reply(t, fresh); got != ":1\r\n:2\r\n" && got != ":2\r\n:1\r\n" {
		t.Errorf("replies %q after the cut, want 1 and 2", got)
	}
}

func TestCut_HoldsReplies(t *testing.T) {
	c := start(t, 1)
	p := proxy(t, c.Node(0))
	direct, waiting := client(t, c.Node(0).Addr()), subscriber(t, p)

	p.Cut()
	if got, err := direct.Publish(t.Context(), "news", "x").Result(); got != 1 {
		t.Fatalf("published to %d (%v), want 1", got, err)
	}
	waiting.silent()

	p.Heal()
	waiting.wants("*3")
}

func TestCut_DeliversWhatAClosedClientSent(t *testing.T) {
	c := start(t, 1)
	p := proxy(t, c.Node(0))
	direct, gone := client(t, c.Node(0).Addr()), dial(t, p.Addr())
	gone.send("PING")
	gone.wants("+PONG")

	p.Cut()
	gone.send("RPUSH late x")
	gone.silent()
	gone.Close()
	if n, err := direct.Exists(t.Context(), "late").Result(); err != nil || n != 0 {
		t.Fatalf("%d keys on the node during the cut (%v), want none", n, err)
	}

	p.Heal()
	if got, err := direct.BLPop(t.Context(), long, "late").Result(); err != nil || got[1] != "x" {
		t.Errorf("late command: %v, %v; want x", got, err)
	}
}

func TestCut_HidesTheEndOfTheNode(t *testing.T) {
	c := start(t, 1)
	p := proxy(t, c.Node(0))
	open := dial(t, p.Addr())
	open.send("PING")
	open.wants("+PONG")

	p.Cut()
	if err := c.Node(0).Kill(); err != nil {
		t.Fatal(err)
	}
	fresh := dial(t, p.Addr())
	for _, w := range []wire{open, fresh} {
		w.silent()
	}

	p.Heal()
	for _, w := range []wire{open, fresh} {
		if _, err := w.line(long); !ended(err) {
			t.Errorf("connection after the cut: %v, want its end", err)
		}
	}
}

func TestRefuse_ResetsOpenAndNewConnectionsUntilHeal(t *testing.T) {
	c := start(t, 1)
	p := proxy(t, c.Node(0))
	through, open := client(t, p.Addr()), dial(t, p.Addr())
	mustPing(t, through)
	open.send("PING")
	open.wants("+PONG")

	p.Refuse()
	if _, err := open.line(long); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("open connection: %v, want a reset", err)
	}
	if err := refusal(t, p.Addr()); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("new connection: %v, want a reset", err)
	}
	if err := ping(t, through, long); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("PING: %v, want an error at once", err)
	}

	p.Heal()
	mustPing(t, through)
}

func TestRefuse_EndsACutAndACutEndsIt(t *testing.T) {
	c := start(t, 1)
	p := proxy(t, c.Node(0))

	p.Cut()
	cut := dial(t, p.Addr())
	p.Refuse()
	if _, err := cut.line(long); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("connection made during the cut: %v, want a reset", err)
	}

	p.Cut()
	dial(t, p.Addr()).silent()
}

func TestProxy_OutlivesARestartOfItsNode(t *testing.T) {
	c := start(t, 1)
	n := c.Node(0)
	through := client(t, proxy(t, n).Addr())
	mustPing(t, through)

	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := ping(t, through, long); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("PING of a killed node: %v, want an error at once", err)
	}
	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustPing(t, through)
}

func TestProxy_CloseRefusesFurtherConnections(t *testing.T) {
	c := start(t, 1)
	p := proxy(t, c.Node(0))
	p.Cut()
	dial(t, p.Addr())

	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial to a closed proxy: %v, want refused", err)
	}
}

// subscriber returns a connection that is pushed what is published as news.
func subscriber(t *testing.T, p *redisproc.Proxy) wire {
	t.Helper()
	w := dial(t, p.Addr())
	w.send("SUBSCRIBE news")
	for range 6 { // *3, $9, subscribe, $4, news, :1
		reply(t, w)
	}
	return w
}

func reply(t *testing.T, w wire) string {
	t.Helper()
	line, err := w.line(long)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// refusal returns the error that ends a new connection, be it of the dial or of the first read.
func refusal(t *testing.T, addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(long)); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}
