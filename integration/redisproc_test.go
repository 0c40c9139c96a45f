//go:build unix

package integration_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// These are tests of package redisproc, but only for faults that no other test here would notice.

// parentVariable makes the test binary a parent that starts a node, prints its address and waits to be killed.
const parentVariable = "INTEGRATION_PARENT"

func beParent() {
	nodes, err := redisproc.Start(context.Background(), 1)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(nodes.Node(0).Addr())
	select {}
}

func TestServers_OutliveTheThreadThatStartedThem(t *testing.T) {
	t.Parallel()
	var starting sync.WaitGroup
	var nodes *redisproc.Cluster
	var err error
	starting.Go(func() {
		runtime.LockOSThread() // and no unlock: the thread ends with the goroutine
		nodes, err = redisproc.Start(t.Context(), 1)
	})
	starting.Wait()
	must(t, err)
	closeAfter(t, nodes.Close)
	node := dial(t, nodes.Node(0).Addr())
	node.silent()
	node.asks("PING", "+PONG")
}

func TestServers_LeaveNoProcessAndNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	_, err := redisproc.Start(t.Context(), 2, "--no-such-option", "1")
	want.Text(t, err, "node 1 of 2", "no-such-option")

	nodes := startServers(t, 3)
	var pids []int
	for _, server := range admins(t, nodes.Addrs()) {
		pids = append(pids, number(t, server, "server", "process_id"))
	}
	link, err := nodes.Node(1).Proxy()
	must(t, err)
	open := dial(t, link.Addr())
	open.asks("PING", "+PONG")
	link.Cut()
	must(t, nodes.Node(1).Hang(), nodes.Node(2).Kill(), nodes.Close(), nodes.Close())
	for i, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d of node %d: %v, want that it does not exist", pid, i, err)
		}
	}
	open.ends()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// Other servers start beside this one, so one of them may get the port of a server that was killed.
func TestRestart_IsNotDeceivedByAnotherServerOnItsPort(t *testing.T) {
	t.Parallel()
	nodes := startServers(t, 2)
	node, other := nodes.Node(0), admins(t, nodes.Addrs()[1:])[0]
	moveTo := func(addr string) { // open connections stay
		_, port, err := net.SplitHostPort(addr)
		must(t, err, other.ConfigSet(t.Context(), "port", port).Err())
	}
	must(t, node.Kill())
	moveTo(node.Addr())
	want.Text(t, node.Restart(t.Context()), node.Addr(), "taken")
	moveTo(nodes.Node(1).Addr())
	must(t, node.Restart(t.Context()))
	dial(t, node.Addr()).asks("PING", "+PONG")
}

// A link that lost what it should only hold back would make every fault of a network look like a crash.
func TestLink_HoldsBackBytesWhileItIsCut(t *testing.T) {
	t.Parallel()
	nodes := startServers(t, 1)
	direct := admins(t, nodes.Addrs())[0]
	link, err := nodes.Node(0).Proxy()
	must(t, err)
	open, listening, gone := dial(t, link.Addr()), dial(t, link.Addr()), dial(t, link.Addr())
	open.asks("PING", "+PONG")
	gone.asks("PING", "+PONG")
	listening.asks("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")

	link.Cut()
	fresh := dial(t, link.Addr())
	must(t, direct.Publish(t.Context(), "news", "x").Err())
	open.send("INCR n")
	fresh.send("INCR n")
	gone.send("RPUSH late x")
	for _, w := range []wire{open, fresh, listening, gone} {
		w.silent()
	}
	gone.Close()
	if n, err := direct.Exists(t.Context(), "n", "late").Result(); err != nil || n != 0 {
		t.Errorf("%d keys on the node during the cut (%v), want none", n, err)
	}
	link.Heal()
	if got := open.line() + fresh.line(); got != ":1\r\n:2\r\n" && got != ":2\r\n:1\r\n" {
		t.Errorf("replies %q after the cut, want 1 and 2", got)
	}
	listening.wants("*3", "$7", "message", "$4", "news", "$1", "x")
	if got, err := direct.BLPop(t.Context(), waitLimit, "late").Result(); err != nil || got[1] != "x" {
		t.Errorf("what a client sent that has gone: %v, %v; want x", got, err)
	}

	link.Refuse()
	open.ends()
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
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return wire{conn, t, bufio.NewReader(conn)}
}

func (w wire) send(command string) {
	w.t.Helper()
	_, err := w.Write([]byte(command + "\r\n"))
	must(w.t, err)
}

func (w wire) asks(command string, lines ...string) {
	w.t.Helper()
	w.send(command)
	w.wants(lines...)
}

func (w wire) wants(lines ...string) {
	w.t.Helper()
	for _, want := range lines {
		if got := w.line(); got != want+"\r\n" {
			w.t.Fatalf("reply %q, want %q", got, want)
		}
	}
}

func (w wire) line() string {
	w.t.Helper()
	line, err := w.read(waitLimit)
	must(w.t, err)
	return line
}

func (w wire) read(within time.Duration) (string, error) {
	w.t.Helper()
	must(w.t, w.SetReadDeadline(time.Now().Add(within)))
	return w.r.ReadString('\n')
}

// silent fails the test if anything comes within a moment, the end of the connection included.
func (w wire) silent() {
	w.t.Helper()
	if got, err := w.read(200 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		w.t.Fatalf("reply %q (%v), want silence", got, err)
	}
}

// ends fails the test unless the connection ends.
func (w wire) ends() {
	w.t.Helper()
	if got, err := w.read(waitLimit); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		w.t.Errorf("reply %q (%v), want the end of the connection", got, err)
	}
}
