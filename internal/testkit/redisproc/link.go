//go:build unix

package redisproc

import (
	"context"
	"net"
	"sync"
	"time"
)

// serve runs the link of one client to the node. The link ends when the node's side has ended, and is
// reset when live is done. An error of either connection ends the link, as in any network.
func (p *Proxy) serve(live context.Context, number int, client *net.TCPConn) {
	ctx, end := context.WithCancel(live)
	defer end()
	node, err := p.dial(ctx, number)
	if err != nil {
		abort(client)
		return
	}

	var wg sync.WaitGroup // both end when the connections are closed
	wg.Go(func() {
		p.copy(ctx, number, node, client)
		node.CloseWrite()
	})
	wg.Go(func() {
		p.copy(ctx, number, client, node)
		end()
	})
	<-ctx.Done()
	if live.Err() != nil {
		abort(client)
	}
	client.Close()
	node.Close()
	wg.Wait()
}

// dial connects to the node as soon as the proxy is not cut.
func (p *Proxy) dial(ctx context.Context, number int) (*net.TCPConn, error) {
	if !p.pass(ctx, number, time.Time{}) {
		return nil, ctx.Err()
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.next())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// copy passes on what src sends, and its end, when the faults allow it.
func (p *Proxy) copy(ctx context.Context, number int, dst, src *net.TCPConn) {
	buf := make([]byte, 16<<10)
	for {
		n, ended := src.Read(buf)
		if !p.pass(ctx, number, time.Now()) {
			return
		}
		if _, err := dst.Write(buf[:n]); err != nil || ended != nil {
			return
		}
	}
}

// abort closes conn with a reset.
func abort(conn *net.TCPConn) {
	conn.SetLinger(0)
	conn.Close()
}
