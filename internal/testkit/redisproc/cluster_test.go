//go:build unix

package redisproc_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestStart_GivesIndependentNodesThatKeepNothing(t *testing.T) {
	c := start(t, 3, "--maxmemory", "64mb")

	if got := len(c.Addrs()); got != 3 {
		t.Fatalf("%d addresses, want 3", got)
	}
	for i, addr := range c.Addrs() {
		if got := c.Node(i).Addr(); got != addr {
			t.Errorf("node %d is %s, its address in the list %s", i, got, addr)
		}
		r := client(t, addr)
		mustPing(t, r)
		if got := r.Incr(t.Context(), "n").Val(); got != 1 {
			t.Errorf("node %d counted to %d, want 1", i, got)
		}
		for key, want := range map[string]string{
			"bind": "127.0.0.1", "save": "", "appendonly": "no",
			"maxmemory-policy": "noeviction", "maxmemory": "67108864",
		} {
			if got := r.ConfigGet(t.Context(), key).Val()[key]; got != want {
				t.Errorf("node %d has %s %q, want %q", i, key, got, want)
			}
		}
	}
}

func TestStart_RefusesLessThanOneNode(t *testing.T) {
	_, err := redisproc.Start(t.Context(), 0)
	want.Text(t, err, "0 nodes")
}

func TestStart_SaysHowToInstallRedisWhereItIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())

	_, err := redisproc.Start(t.Context(), 1)
	want.Text(t, err, "apt-get install redis-server")
}

func TestStart_ShowsWhatTheServerComplainedOf(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)

	_, err := redisproc.Start(t.Context(), 2, "--no-such-option", "1")
	want.Text(t, err, "node 1 of 2", "no-such-option")
	wantEmpty(t, dir)
}

func TestStart_LeavesNothingWhenItsContextEnds(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()

	// A server with a password does not answer, so only ctx ends the wait.
	_, err := redisproc.Start(ctx, 1, "--requirepass", "secret")
	want.Err(t, err, context.DeadlineExceeded)
	want.Text(t, err, "node 1 of 1")
	wantEmpty(t, dir)
}

func TestClose_LeavesNoProcessAndNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	c := start(t, 3)
	var pids []int
	for i := range c.Addrs() {
		pids = append(pids, pid(t, c.Node(i)))
	}
	p := proxy(t, c.Node(1))
	open := dial(t, p.Addr())
	open.send("PING")
	open.wants("+PONG")
	p.Cut()
	if err := errors.Join(c.Node(1).Hang(), c.Node(2).Kill()); err != nil {
		t.Fatal(err)
	}

	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	for i, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d of node %d: %v, want that it does not exist", pid, i, err)
		}
	}
	if _, err := open.line(long); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("open connection of the proxy: %v, want a reset", err)
	}
	wantEmpty(t, dir)
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// pid asks the server itself for its process id.
func pid(t *testing.T, n *redisproc.Node) int {
	t.Helper()
	info, err := client(t, n.Addr()).InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(info["Server"]["process_id"])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
