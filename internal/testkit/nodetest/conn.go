package nodetest

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// conn is one connection of a process to a node. Cluster.mu guards it and its two ends.
type conn struct {
	links          *Links
	address        int // the node whose address was dialed
	node           int // the node that it leads to
	client, server *end
	broken         bool
	pending        []byte // the part of an incomplete request that the client has written
	inSetup        bool   // the client's last request only set up the connection
}

// end is the client's or the node's end of a connection. Writing never waits, because the inbox of the
// other end has no bound: to small requests, a kernel's socket buffers look the same.
type end struct {
	conn     *conn
	peer     *end
	changed  *sync.Cond // signals a change that a Read may wait for
	inbox    []packet
	closed   bool
	deadline time.Time // of Read; zero means none
}

// packet is a request, or the data of one Write of the node. Without data it is the end of the stream.
type packet struct {
	sent    time.Time
	data    []byte
	setup   bool // a request that only sets up the connection
	arrived bool
	reset   bool // the connection breaks instead of data arriving
}

func newConn(l *Links, address int) *conn {
	turns := l.leads[address]
	c := &conn{links: l, address: address, node: turns[0]}
	l.leads[address] = append(turns[1:], turns[0])
	c.client = &end{conn: c, changed: sync.NewCond(&l.cluster.mu)}
	c.server = &end{conn: c, changed: sync.NewCond(&l.cluster.mu), peer: c.client}
	c.client.peer = c.server
	return c
}

func (c *conn) fault() fault {
	if c.links.direct {
		return fault{}
	}
	return c.links.of[c.node].with(c.links.cluster.of[c.node])
}

func (c *conn) wake() {
	c.client.changed.Broadcast()
	c.server.changed.Broadcast()
}

func (e *end) mu() *sync.Mutex { return &e.conn.links.cluster.mu }

// Read waits for bytes that the current faults let through.
func (e *end) Read(b []byte) (int, error) {
	e.mu().Lock()
	defer e.mu().Unlock()
	for {
		if err := e.usable("read"); err != nil {
			return 0, err
		}
		now, alarm := time.Now(), e.deadline
		if !alarm.IsZero() && !alarm.After(now) {
			return 0, e.fail("read", os.ErrDeadlineExceeded)
		}
		fault := e.conn.fault()
		if len(e.inbox) > 0 && !fault.hung {
			arrival := e.inbox[0].sent.Add(fault.delay)
			if !arrival.After(now) {
				e.arrive(fault)
				return e.take(b)
			}
			if alarm.IsZero() || arrival.Before(alarm) {
				alarm = arrival
			}
		}
		e.wait(alarm)
	}
}

// arrive applies the current faults to the first packet, once.
func (e *end) arrive(fault fault) {
	first := &e.inbox[0]
	switch {
	case first.arrived || len(first.data) == 0:
	case e == e.conn.server && fault.answer != "" && !first.setup:
		first.data = request(refuse, fault.answer)
	case e == e.conn.client && fault.deaf && !e.conn.inSetup:
		e.inbox = []packet{{reset: true}}
	}
	e.inbox[0].arrived = true
}

// take moves bytes of the first packet into b.
func (e *end) take(b []byte) (int, error) {
	first := &e.inbox[0]
	if first.reset {
		e.conn.broken = true
		e.conn.wake()
		return 0, e.usable("read")
	}
	if len(first.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b, first.data)
	if first.data = first.data[n:]; len(first.data) == 0 {
		e.inbox = e.inbox[1:]
	}
	return n, nil
}

// wait returns when something has changed, or at the given instant unless that is zero.
func (e *end) wait(until time.Time) {
	if !until.IsZero() {
		timer := time.AfterFunc(time.Until(until), func() {
			e.mu().Lock()
			defer e.mu().Unlock()
			e.changed.Broadcast()
		})
		defer timer.Stop()
	}
	e.changed.Wait()
}

func (e *end) Write(b []byte) (int, error) {
	e.mu().Lock()
	defer e.mu().Unlock()
	if err := e.usable("write"); err != nil {
		return 0, err
	}
	if e == e.conn.client {
		e.conn.ask(b)
	} else if len(b) > 0 {
		e.send(packet{data: bytes.Clone(b)})
	}
	return len(b), nil
}

// ask sends each request that b completes.
func (c *conn) ask(b []byte) {
	c.pending = append(c.pending, b...)
	for {
		size, name := firstRequest(c.pending)
		if size == 0 {
			return
		}
		c.inSetup = isSetup(name)
		if !c.inSetup && !c.links.direct {
			c.links.cluster.nodes[c.node].requests++
		}
		c.client.send(packet{data: bytes.Clone(c.pending[:size]), setup: c.inSetup})
		c.pending = c.pending[size:]
	}
}

func (e *end) send(p packet) {
	p.sent = time.Now()
	e.peer.inbox = append(e.peer.inbox, p)
	e.peer.changed.Broadcast()
}

// Close sends the end of the stream, which arrives after the bytes already written.
func (e *end) Close() error {
	e.mu().Lock()
	defer e.mu().Unlock()
	if e.closed {
		return e.fail("close", net.ErrClosed)
	}
	e.close()
	return nil
}

func (e *end) close() {
	if e.closed {
		return
	}
	e.closed = true
	e.changed.Broadcast()
	e.send(packet{})
	cluster := e.conn.links.cluster
	if e == e.conn.server {
		cluster.served.Done() // closing its end is the last thing that the node does
	}
	if e.peer.closed {
		delete(cluster.conns, e.conn)
	}
}

func (e *end) usable(op string) error {
	switch {
	case e.closed:
		return e.fail(op, net.ErrClosed)
	case e.conn.broken:
		return e.fail(op, os.NewSyscallError(op, syscall.ECONNRESET))
	}
	return nil
}

func (e *end) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: e.RemoteAddr(), Err: err}
}

// LocalAddr and RemoteAddr both return the node's address, because the client has none.
func (e *end) LocalAddr() net.Addr { return e.RemoteAddr() }

func (e *end) RemoteAddr() net.Addr {
	addr := e.conn.links.cluster.nodes[e.conn.node].addr
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))
}

func (e *end) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

func (e *end) SetReadDeadline(t time.Time) error {
	e.mu().Lock()
	defer e.mu().Unlock()
	e.deadline = t
	e.changed.Broadcast()
	return e.usable("set")
}

// SetWriteDeadline does nothing, because no Write waits.
func (e *end) SetWriteDeadline(time.Time) error { return nil }

// SyscallConn lets the pool of go-redis notice that an idle connection is broken, and replace it, as it
// does with a socket.
func (e *end) SyscallConn() (syscall.RawConn, error) {
	e.mu().Lock()
	defer e.mu().Unlock()
	return healthy{}, e.usable("read")
}

// healthy is a socket with nothing to read: it never calls its callbacks.
type healthy struct{}

func (healthy) Control(func(uintptr)) error    { return nil }
func (healthy) Read(func(uintptr) bool) error  { return nil }
func (healthy) Write(func(uintptr) bool) error { return nil }
