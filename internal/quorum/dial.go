package quorum

import (
	"cmp"
	"context"
	"net"
	"sync"
	"time"
)

// dialing lets a dial go on when its call has ended, and a later call take the connection. Otherwise a name server or a TLS handshake
// that takes longer than the node timeout would keep all calls from the node. Each call dials as well, because a dial that has begun
// while the network was down may take seconds. So there are two dials at most: the first one, and that of the latest call.
type dialing struct {
	dialer dialer
	limit  time.Duration // of a dial

	mu            sync.Mutex // guards the fields below, and those of each dial
	first, latest *dial      // nil: none whose connection nobody has taken
	closed        bool
}

// dial becomes one connection, or none.
type dial struct {
	stop  context.CancelFunc
	ended chan struct{} // closed when conn and err are set
	conn  net.Conn
	err   error
	at    time.Time // when it ended
	gone  bool      // somebody has its connection, or nobody wants it any more
}

// fresh is for how long a connection waits for a call. The network may have forgotten an older one.
const fresh = 5 * time.Second

// dial is a dialer.
func (d *dialing) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	first, latest, err := d.begin(network, addr)
	if err != nil {
		return nil, err
	}
	var before <-chan struct{}
	if first != nil {
		before = first.ended
	}
	for {
		select {
		case <-before:
			if d.take(first) {
				d.drop(latest)
				return first.conn, nil
			}
			d.drop(first)
			before = nil
		case <-latest.ended:
			if d.take(latest) {
				d.drop(first)
				return latest.conn, nil
			}
			return nil, cmp.Or(latest.err, net.ErrClosed) // dropped by a later call
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// begin begins a dial, and returns the first one as well, if it is of use. The goroutine ends by the limit, or when the dial is stopped.
// Nobody waits for it, because the dialer of a client with TLS does not honor a context.
func (d *dialing) begin(network, addr string) (first, latest *dial, err error) {
	ctx, stop := context.WithTimeout(context.Background(), d.limit)
	one := &dial{stop: stop, ended: make(chan struct{})}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		stop()
		return nil, nil, net.ErrClosed
	}
	dropped := d.latest
	if d.first == nil || d.first.isOver() {
		d.first, dropped = d.latest, d.first
	}
	d.latest = one
	first = d.first
	d.mu.Unlock()
	d.drop(dropped)
	go func() {
		defer stop()
		conn, err := d.dialer(ctx, network, addr)
		d.mu.Lock()
		one.conn, one.err, one.at = conn, err, time.Now()
		unwanted := one.gone
		d.mu.Unlock()
		if unwanted && conn != nil {
			_ = conn.Close()
		}
		close(one.ended)
	}()
	return first, one, nil
}

// isOver reports whether a dial has failed, or its connection is too old.
func (o *dial) isOver() bool { return !o.at.IsZero() && (o.err != nil || time.Since(o.at) > fresh) }

// take reports whether a dial that has ended has a connection for its caller, who is the only one to get it.
func (d *dialing) take(one *dial) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ok := !one.gone && !one.isOver()
	one.gone = one.gone || ok
	d.forget(one)
	return ok
}

// drop stops a dial, and closes its connection unless somebody has it.
func (d *dialing) drop(one *dial) {
	if one == nil {
		return
	}
	one.stop()
	d.mu.Lock()
	conn := one.conn
	if one.gone {
		conn = nil
	}
	one.gone = true
	d.forget(one)
	d.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}

// forget needs mu.
func (d *dialing) forget(one *dial) {
	if d.first == one {
		d.first = nil
	}
	if d.latest == one {
		d.latest = nil
	}
}

// close drops all dials. Later ones fail.
func (d *dialing) close() {
	d.mu.Lock()
	d.closed = true
	first, latest := d.first, d.latest
	d.mu.Unlock()
	d.drop(first)
	d.drop(latest)
}
