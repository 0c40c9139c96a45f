//go:build unix

package sqlproc

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Loss is what a [Proxy] does to a COMMIT.
type Loss int

const (
	// None passes it on.
	None Loss = iota
	// Answer passes it on, and ends the connection instead of passing on the answer.
	Answer
	// Request ends both connections instead.
	Request
	// Delayed ends the connection of the client, and passes it on when [Proxy.Deliver] is called.
	Delayed
)

// Proxy passes bytes to a server and back, until it sees a COMMIT that it is told to lose.
type Proxy struct {
	server   string
	listener net.Listener
	links    sync.WaitGroup // the accepting goroutine, and two for each connection; Close ends them and waits
	closing  chan struct{}
	deliver  chan struct{} // a token for each delayed COMMIT that may go on

	mu    sync.Mutex // guards the rest
	loss  Loss
	conns map[net.Conn]bool
	shut  bool // new connections are refused
	lost  int
}

// NewProxy opens a proxy before a server.
func NewProxy(server string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		server: server, listener: listener, closing: make(chan struct{}), deliver: make(chan struct{}, 16),
		conns: map[net.Conn]bool{},
	}
	p.links.Go(p.accept)
	return p, nil
}

// Addr returns the host:port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// LoseNext has the next COMMIT lost, once.
func (p *Proxy) LoseNext(loss Loss) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loss = loss
}

// Lost returns how many were.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Deliver lets one delayed COMMIT go on.
func (p *Proxy) Deliver() { p.deliver <- struct{}{} }

// Cut ends all connections and refuses new ones, until Heal.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// Heal ends a cut.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = false
}

// Close ends everything and waits.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	close(p.closing)
	p.Cut()
	p.links.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // links that end give descriptors back
			continue
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, server) {
			continue
		}
		p.links.Go(func() { p.requests(client, server) }) // both end with the connections
		p.links.Go(func() { answers(client, server) })
	}
}

// keep remembers the connections, so that Cut ends them.
func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.shut {
			_ = conn.Close()
		} else {
			p.conns[conn] = true
		}
	}
	return !p.shut
}

func (p *Proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.conns, conn)
	}
}

// answers passes on what the server says.
func answers(client, server net.Conn) {
	_, _ = io.Copy(client, server) // its end is the end of the link
	_ = client.Close()
	_ = server.Close()
}

// requests passes on what the client says, but for what is to be lost.
func (p *Proxy) requests(client, server net.Conn) {
	defer p.drop(client, server)
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		loss := p.lossOf(buf[:n])
		if loss == Request {
			return
		}
		if loss != None {
			_ = client.Close() // the answer has nowhere to go
		}
		if loss == Delayed {
			select {
			case <-p.deliver:
			case <-p.closing:
				return
			}
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if loss != None {
			p.drain(server)
			return
		}
	}
}

// drain waits until the server has ended the transaction: it closes the connection once it has read that we have.
func (p *Proxy) drain(server net.Conn) {
	if half, ok := server.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, server)
}

func (p *Proxy) lossOf(request []byte) Loss {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loss == None || !bytes.Contains(bytes.ToLower(request), []byte("commit")) {
		return None
	}
	loss := p.loss
	p.loss = None
	p.lost++
	return loss
}
