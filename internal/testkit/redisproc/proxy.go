//go:build unix

package redisproc

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// Proxy is a TCP listener on loopback that passes bytes to one node, or to one of several, and back, with the faults that are
// set on it. A fault takes effect at once, on open connections and on bytes in transit. Only a write that
// has already started still passes. Cut, Refuse and Heal replace each other. The methods may be called at
// any time from any goroutine.
type Proxy struct {
	listener *net.TCPListener
	wg       sync.WaitGroup // the accepting goroutine, and one for each link
	failed   error          // why accepting ended early; read after wg.Wait

	mu     sync.Mutex // guards all below
	nodes  []string   // to which new links lead in turn
	faults faults
	opened int             // how many links were opened
	live   context.Context // done when the links that were opened with it must be reset
	reset  context.CancelFunc
}

type faults struct {
	delay   time.Duration
	cut     bool
	refuse  bool
	swallow int           // so many links, the first ones, are a black hole
	changed chan struct{} // closed when these faults are no longer the current ones
}

func newProxy(node string) (*Proxy, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	p := &Proxy{nodes: []string{node}, listener: listener, faults: faults{changed: make(chan struct{})}}
	p.live, p.reset = context.WithCancel(context.Background())
	p.wg.Go(p.accept) // Close ends it and waits
	return p, nil
}

// Addr returns the host:port to connect to instead of the node's.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Delay holds every byte back for d, in each direction, so that a command takes at least 2 × d. What comes in meanwhile
// waits for longer. It does not delay connecting. Delay is independent of the other faults, but Heal ends it too.
func (p *Proxy) Delay(d time.Duration) {
	p.change(func(f *faults) { f.delay = d })
}

// Cut makes the network a black hole: connections stay open and new ones are accepted, but no byte and
// no end of a connection passes in either direction. Data that was sent is delivered after Heal, even if
// its sender has closed the connection meanwhile. If the data fills the buffers, the sender blocks.
func (p *Proxy) Cut() {
	p.change(func(f *faults) { f.cut, f.refuse = true, false })
}

// Refuse resets all open connections, and every new one as soon as it is accepted. Bytes in transit are
// lost.
func (p *Proxy) Refuse() {
	p.change(func(f *faults) {
		f.cut, f.refuse = false, true
		p.reset()
		p.live, p.reset = context.WithCancel(context.Background())
	})
}

// Swallow makes a black hole of the connections that are open, as a router does that has forgotten them. New ones work.
func (p *Proxy) Swallow() {
	p.change(func(f *faults) { f.swallow = p.opened })
}

// Lead makes new links lead to these nodes in turn, as a load balancer does. Open links stay where they are.
func (p *Proxy) Lead(nodes ...*Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes = nil
	for _, n := range nodes {
		p.nodes = append(p.nodes, n.addr)
	}
}

// next returns the node to which a new link leads.
func (p *Proxy) next() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	node := p.nodes[0]
	p.nodes = append(p.nodes[1:], node)
	return node
}

// Heal ends all faults.
func (p *Proxy) Heal() {
	p.change(func(f *faults) { *f = faults{} })
}

// Close resets all connections, stops listening and waits until both are done. If an error ended
// listening early, Close returns it. Calling it again does nothing more.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	p.mu.Lock()
	p.reset()
	p.mu.Unlock()
	p.wg.Wait()
	return errors.Join(err, p.failed)
}

// change replaces the faults. The function is called with the mutex held.
func (p *Proxy) change(set func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.faults.changed)
	set(&p.faults)
	p.faults.changed = make(chan struct{})
}

func (p *Proxy) current() faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

// open counts a new link, and returns its number and what it lives with.
func (p *Proxy) open() (number int, live context.Context, refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	return p.opened, p.live, p.faults.refuse
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			time.Sleep(10 * time.Millisecond) // links that end free file descriptors
			continue
		}
		if err != nil {
			p.failed = err
			return
		}
		number, live, refuse := p.open()
		if refuse {
			abort(client)
			continue
		}
		p.wg.Go(func() { p.serve(live, number, client) }) // ends with live or with the link; Close waits
	}
}

// pass waits until bytes that came in at that time, on the link with that number, may pass. It returns false if ctx is
// done first.
func (p *Proxy) pass(ctx context.Context, number int, came time.Time) bool {
	for {
		now := p.current()
		var due <-chan time.Time // never, while cut
		if !now.cut && number > now.swallow {
			left := now.delay - time.Since(came)
			if left <= 0 {
				return ctx.Err() == nil
			}
			due = time.After(left)
		}
		select {
		case <-due:
		case <-now.changed:
		case <-ctx.Done():
			return false
		}
	}
}
