//go:build unix

package sqlproc

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"sync/atomic"
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

// NewProxy opens a proxy in front of a server.
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

// Lost returns how many COMMITs were lost.
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
		l := &link{client: client.(*net.TCPConn), server: server.(*net.TCPConn), ended: make(chan struct{})}
		p.links.Go(func() { p.requests(l) }) // both end with the connections
		p.links.Go(l.answers)
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

// link is a client with its connection to the server.
type link struct {
	client, server *net.TCPConn
	mute           atomic.Bool   // what the server says is thrown away
	ended          chan struct{} // closed when the server has ended the connection
}

// answers passes on what the server says.
func (l *link) answers() {
	defer close(l.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		if err != nil {
			break
		}
		if l.mute.Load() {
			continue
		}
		if _, err := l.client.Write(buf[:n]); err != nil {
			break
		}
	}
	_ = l.client.Close()
	_ = l.server.Close()
}

// requests passes on what the client says, except what must get lost.
func (p *Proxy) requests(l *link) {
	defer p.drop(l.client, l.server)
	buf := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buf)
		if err != nil {
			return
		}
		switch loss := p.lossOf(buf[:n]); loss {
		case Request:
			return
		case Answer, Delayed:
			p.lose(l, buf[:n], loss)
			return
		}
		if _, err := l.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// lose has the server carry out a request, and waits until it has ended the connection.
func (p *Proxy) lose(l *link, request []byte, loss Loss) {
	l.mute.Store(true)
	if loss == Delayed {
		_ = l.client.Close()
		select {
		case <-p.deliver:
		case <-p.closing:
			return
		}
	}
	if _, err := l.server.Write(request); err == nil {
		_ = l.server.CloseWrite()
		<-l.ended
	}
}

func (p *Proxy) lossOf(request []byte) Loss {
	p.mu.Lock()
	defer p.mu.Unlock()
	lower := bytes.ToLower(request)
	isCommit := bytes.HasSuffix(lower, []byte("commit\x00")) || // a query of PostgreSQL
		bytes.HasSuffix(lower, []byte("\x03commit")) // one of MariaDB
	if p.loss == None || !isCommit {
		return None
	}
	loss := p.loss
	p.loss = None
	p.lost++
	return loss
}
