//go:build unix

package asynqtick_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
)

// lossy dials connections that lose the answer to a script: Redis runs it, but the client does not get the answer.
type lossy struct{ lose atomic.Int64 } // how many more answers to lose

func (l *lossy) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &lossyConn{Conn: conn, lossy: l}, nil
}

type lossyConn struct {
	net.Conn
	lossy *lossy
	loses bool // lose the answer to the last write
}

func (c *lossyConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("evalsha")) || bytes.Contains(b, []byte("eval\r\n")) {
		c.loses = c.lossy.lose.Add(-1) >= 0
	}
	return c.Conn.Write(b)
}

func (c *lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.loses || err != nil || bytes.HasPrefix(b[:n], []byte("-NOSCRIPT")) {
		return n, err
	}
	_ = c.Conn.Close()
	return 0, io.EOF
}
