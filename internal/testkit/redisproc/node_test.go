//go:build unix

package redisproc_test

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestHang_SilencesTheNodeUntilWake(t *testing.T) {
	c := start(t, 2)
	hung, other := client(t, c.Node(0).Addr()), client(t, c.Node(1).Addr())
	mustPing(t, hung)

	if err := c.Node(0).Hang(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := ping(t, hung, short); !errors.Is(err, context.DeadlineExceeded) && !os.IsTimeout(err) {
		t.Fatalf("PING of a hung node: %v, want a timeout", err)
	}
	if took := time.Since(began); took < short {
		t.Fatalf("PING of a hung node failed after %v, want silence for %v", took, short)
	}
	mustPing(t, other)

	if err := c.Node(0).Wake(); err != nil {
		t.Fatal(err)
	}
	mustPing(t, hung)
}

func TestRestart_ComesBackEmptyAtTheSameAddress(t *testing.T) {
	c := start(t, 1)
	n := c.Node(0)
	addr, before := n.Addr(), pid(t, n)
	r := client(t, addr)
	if err := r.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}

	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := ping(t, r, long); err == nil {
		t.Fatal("a killed node answered PING")
	}
	if _, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dial to a killed node: %v, want refused", err)
	}
	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := n.Addr(); got != addr {
		t.Errorf("address %s after restart, was %s", got, addr)
	}
	if err := r.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("key after restart: %v, want %v", err, redis.Nil)
	}
	if after := pid(t, n); after == before {
		t.Errorf("still process %d", after)
	}
}

func TestRestart_KeepsDataWhereTheArgsPersist(t *testing.T) {
	c := start(t, 1, "--appendonly", "yes", "--appendfsync", "always")
	n := c.Node(0)
	r := client(t, n.Addr())
	if err := r.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(n.Kill(), n.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}

	if got, err := client(t, n.Addr()).Get(t.Context(), "k").Result(); got != "v" {
		t.Errorf("key after restart: %q, %v; want v", got, err)
	}
}

func TestRestart_IsNotDeceivedByAnotherServerOnItsPort(t *testing.T) {
	c := start(t, 2)
	n := c.Node(0)
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	other := client(t, c.Node(1).Addr())
	moveTo(t, other, n.Addr())

	want.Text(t, n.Restart(t.Context()), n.Addr(), "taken")

	moveTo(t, other, c.Node(1).Addr())
	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustPing(t, client(t, n.Addr()))
}

// moveTo makes a server listen on the port of addr instead of its own. Its open connections stay.
func moveTo(t *testing.T, r *redis.Client, addr string) {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.ConfigSet(t.Context(), "port", port).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestNode_RefusesWhatItsStateForbids(t *testing.T) {
	c := start(t, 1)
	n := c.Node(0)

	want.Text(t, n.Restart(t.Context()), n.Addr())
	if err := errors.Join(n.Kill(), n.Kill()); err != nil {
		t.Errorf("Kill, twice: %v", err)
	}
	if err := n.Hang(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Hang of a killed node: %v, want %v", err, os.ErrProcessDone)
	}
	if err := n.Wake(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Wake of a killed node: %v, want %v", err, os.ErrProcessDone)
	}
}

func TestKill_EndsAHungNode(t *testing.T) {
	c := start(t, 1)
	n := c.Node(0)

	if err := errors.Join(n.Hang(), n.Kill(), n.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	mustPing(t, client(t, n.Addr()))
}
