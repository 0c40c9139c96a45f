//go:build unix

package integration_test

import (
	"net"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// gates are proxies between a replica and the nodes. They parse the requests, and can hold back a request or its answer.
type gates struct {
	addrs     []string
	held      chan request // each request that is held back, or whose answer is
	listeners []net.Listener
	closed    chan struct{}
	wg        sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	judge func(request) verdict
	open  chan struct{} // closed to release what is held back
	conns []net.Conn
}

// request is a request of a replica to a node for a tick of its job.
type request struct {
	node int
	tick time.Time
	end  bool // it stores the end of a run; otherwise it stores the start
}

// verdict says what a gate does with a request.
type verdict int

const (
	passes     verdict = iota
	unanswered         // the node executes it, but the answer is held back
	unasked            // the request is held back
)

// hold is the request, if any, for which a connection's answers are held back until the connection is closed.
type hold = atomic.Pointer[<-chan struct{}]

// newGates opens gates, and closes them after the test.
func newGates(t *testing.T, nodes *redisproc.Cluster) *gates {
	t.Helper()
	g := &gates{
		held: make(chan request, 1000), closed: make(chan struct{}), open: make(chan struct{}),
		judge: func(request) verdict { return passes },
	}
	t.Cleanup(g.close)
	for i, node := range nodes.Addrs() {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		g.addrs = append(g.addrs, listener.Addr().String())
		g.listeners = append(g.listeners, listener)
		g.wg.Go(func() { g.accept(i, listener, node) }) // ends with the listener
	}
	return g
}

// set sets the judge of requests for ticks later than after. One goroutine at a time calls the judge.
func (g *gates) set(after time.Time, judge func(request) verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.judge = func(r request) verdict {
		if !r.tick.After(after) {
			return passes
		}
		return judge(r)
	}
}

// wait waits until n gates hold back a request or an answer, and returns its tick.
func (g *gates) wait(t *testing.T, n int) (tick time.Time) {
	t.Helper()
	for seen := make(map[int]bool); len(seen) < n; {
		select {
		case r := <-g.held:
			seen[r.node], tick = true, r.tick
		case <-time.After(waitLimit):
			t.Fatalf("after %v %d gates held something back, want %d", waitLimit, len(seen), n)
		}
	}
	return tick
}

// release passes on everything that is held back, and all later requests.
func (g *gates) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.judge = func(request) verdict { return passes }
	close(g.open)
	g.open = make(chan struct{})
}

// close ends all connections. Anything held back is dropped.
func (g *gates) close() {
	close(g.closed)
	for _, listener := range g.listeners {
		listener.Close()
	}
	g.mu.Lock()
	for _, conn := range g.conns {
		conn.Close()
	}
	g.mu.Unlock()
	g.wg.Wait()
}

func (g *gates) accept(i int, listener net.Listener, node string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return // the listener was closed
		}
		server, err := net.Dial("tcp", node)
		if err != nil {
			client.Close()
			continue
		}
		g.mu.Lock()
		g.conns = append(g.conns, client, server)
		g.mu.Unlock()
		select {
		case <-g.closed: // maybe before the connections were in the list
			client.Close()
			server.Close()
		default:
		}
		var until hold
		g.wg.Go(func() { g.ask(i, client, server, &until) }) // both end with either connection
		g.wg.Go(func() { g.answer(server, client, &until) })
	}
}

// ask passes on the client's requests. go-redis writes a command, or a pipeline of commands, in one call.
func (g *gates) ask(i int, client, server net.Conn, until *hold) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if r, ok := parse(i, buf[:n]); ok {
			verdict, open := g.judged(r)
			if verdict == unanswered {
				until.Store(&open)
			}
			if verdict != passes {
				g.held <- r
			}
			if verdict == unasked && !g.goesOn(open) {
				return
			}
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (g *gates) answer(server, client net.Conn, until *hold) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if open := until.Load(); open != nil && !g.goesOn(*open) {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (g *gates) judged(r request) (verdict, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.judge(r), g.open
}

// goesOn waits until the gates release what they hold back (true) or drop it (false).
func (g *gates) goesOn(open <-chan struct{}) bool {
	select {
	case <-open:
		return true
	case <-g.closed:
		return false
	}
}

var (
	opened = regexp.MustCompile(` open=t(\d{13}),`) // in the state of a job
	closed = regexp.MustCompile(`\nt(\d{13}),ok,`)  // a row of its history
)

// parse recognizes the requests about a tick of the job.
func parse(node int, bytes []byte) (request, bool) {
	tick, end := opened.FindSubmatch(bytes), false
	if tick == nil {
		tick, end = closed.FindSubmatch(bytes), true
	}
	if tick == nil {
		return request{}, false
	}
	ms, _ := strconv.ParseInt(string(tick[1]), 10, 64) // thirteen digits
	return request{node: node, tick: time.UnixMilli(ms).UTC(), end: end}, true
}
