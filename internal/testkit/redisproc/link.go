//go:build unix

package redisproc

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"
)

const (
	chunkSize  = 16 << 10 // bytes
	chunksHeld = 256      // per direction; the kernel buffers the rest
)

// chunk is the data of one read, and its time.
type chunk struct {
	data []byte
	came time.Time
}

// serve runs the link of one client to the node. The link ends when the node's side has ended, and is
// reset when live is done. An error of either connection ends the link, as in any network.
func (p *Proxy) serve(live context.Context, client *net.TCPConn) {
	ctx, end := context.WithCancel(live)
	defer end()
	node, err := p.dial(ctx)
	if err != nil {
		abort(client)
		return
	}

	var wg sync.WaitGroup // all four end when the connections are closed
	requests, replies := make(chan chunk, chunksHeld), make(chan chunk, chunksHeld)
	wg.Go(func() { receive(ctx, client, requests) })
	wg.Go(func() { receive(ctx, node, replies) })
	wg.Go(func() {
		p.send(ctx, node, requests)
		node.CloseWrite()
	})
	wg.Go(func() {
		p.send(ctx, client, replies)
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
func (p *Proxy) dial(ctx context.Context) (*net.TCPConn, error) {
	if !p.pass(ctx, time.Time{}) {
		return nil, ctx.Err()
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.node)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// receive reads chunks until src ends. It also reads while earlier chunks are held back, so that delays
// do not add up. The end is an empty chunk, and faults hold it back like the bytes before it.
func receive(ctx context.Context, src *net.TCPConn, chunks chan<- chunk) {
	defer close(chunks)
	buf := make([]byte, chunkSize)
	for {
		n, err := src.Read(buf)
		select {
		case chunks <- chunk{bytes.Clone(buf[:n]), time.Now()}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// send passes on each chunk when the faults allow it, until there are no more or dst has ended.
func (p *Proxy) send(ctx context.Context, dst *net.TCPConn, chunks <-chan chunk) {
	for c := range chunks {
		if !p.pass(ctx, c.came) {
			return
		}
		if _, err := dst.Write(c.data); err != nil {
			return
		}
	}
}

// abort closes conn with a reset.
func abort(conn *net.TCPConn) {
	conn.SetLinger(0)
	conn.Close()
}
