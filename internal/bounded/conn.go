// Package bounded reads replies of a Redis server and refuses those that would cost the reader much: go-redis sets aside what a
// reply announces, before any of it has come, and follows lists in lists as deep as they go. A server that is not what it should
// be, or somebody in between, could end the process by a few bytes.
package bounded

import (
	"fmt"
	"net"
	"syscall"
)

// Limits of a reply. What this library asks for stays far below.
const (
	MaxText  = 1 << 20  // bytes of one text
	MaxReply = 64 << 20 // bytes of a whole reply
	maxLine  = 1 << 16  // bytes of a number, a status, an error
	maxList  = 1 << 20  // elements of one list
	maxDepth = 16       // lists in lists
)

// New returns the connection to a server with limits: from the first reply beyond them on it returns an error, and is closed.
// Only one goroutine reads at a time.
func New(c net.Conn) net.Conn {
	limited := &conn{Conn: c}
	if raw, ok := c.(syscall.Conn); ok { // by which go-redis sees that an idle connection is broken; TLS has none
		limited.first.plain = true
		return &rawConn{limited, raw}
	}
	return limited
}

type rawConn struct {
	*conn
	syscall.Conn
}

type conn struct {
	net.Conn
	first   first
	replies replies
	err     error // why it reads no more
}

// Write writes like the connection below.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.first.explain(err)
}

// Read reads like the connection below.
func (c *conn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.Conn.Read(p)
	if c.first.read(p[:n]); c.first.alert {
		return 0, c.first.explain(err)
	}
	if problem := c.replies.scan(p[:n]); problem != nil {
		c.err = problem
		_ = c.Conn.Close() // what comes after it is no reply
		return 0, c.err
	}
	return n, c.first.explain(err)
}

// replies follows the replies in a stream of bytes, in RESP2 or RESP3.
type replies struct {
	lists []list // in which the next element lies, the innermost last
	size  int    // of this reply up to here
	skip  int    // bytes of a text that are still to come
	line  int    // bytes of the line so far; 0: the next byte is a type

	kind  byte // of the line
	count int  // the number in it
	minus bool // before the number
	wrong bool // it is no number
}

type list struct {
	left      int  // elements
	attribute bool // it stands before an element, and is none
}

func (r *replies) scan(p []byte) error {
	for len(p) > 0 {
		if r.skip > 0 {
			n := min(r.skip, len(p))
			r.skip, p = r.skip-n, p[n:]
			if r.skip == 0 {
				r.element()
			}
			continue
		}
		b := p[0]
		p = p[1:]
		if err := r.byte(b); err != nil {
			return err
		}
	}
	return nil
}

func refused(format string, args ...any) error {
	return fmt.Errorf("the reply of the server is refused: "+format, args...)
}

// byte reads a byte of a line.
func (r *replies) byte(b byte) error {
	switch {
	case r.line == 0:
		r.kind, r.count, r.minus, r.wrong = b, 0, false, false
	case b == '\n':
		r.size += r.line
		r.line = 0
		return r.announced()
	case b == '\r':
	case b == '-' && r.line == 1:
		r.minus = true
	case '0' <= b && b <= '9' && r.count <= MaxReply:
		r.count = 10*r.count + int(b-'0')
	case b < '0' || '9' < b:
		r.wrong = true
	}
	if r.line++; r.line > maxLine {
		return refused("it has a line of more than %d bytes", maxLine)
	}
	return nil
}

// announced judges what a line announces.
func (r *replies) announced() error {
	factor := 1
	switch r.kind {
	case '$', '=', '!':
		if r.minus {
			r.element()
			return nil
		}
		if r.wrong || r.count > MaxText {
			return refused("it has a text of more than %d bytes, or of unknown length", MaxText)
		}
		r.skip = r.count + len("\r\n")
		r.size += r.skip
		if r.size > MaxReply {
			return refused("it has more than %d bytes", MaxReply)
		}
		return nil
	case '%', '|':
		factor = 2
		fallthrough
	case '*', '~', '>':
		if r.wrong || r.count > maxList {
			return refused("it has a list of more than %d elements, or of unknown length", maxList)
		}
		if len(r.lists) == maxDepth {
			return refused("it has lists in lists, deeper than %d", maxDepth)
		}
		if r.count == 0 || r.minus {
			if r.kind != '|' {
				r.element()
			}
			return nil
		}
		r.lists = append(r.lists, list{left: factor * r.count, attribute: r.kind == '|'})
		return nil
	}
	if r.size > MaxReply {
		return refused("it has more than %d bytes", MaxReply)
	}
	r.element()
	return nil
}

// element notes that an element has ended, and with it the lists of which it is the last.
func (r *replies) element() {
	for len(r.lists) > 0 {
		last := &r.lists[len(r.lists)-1]
		last.left--
		if last.left > 0 {
			return
		}
		attribute := last.attribute
		r.lists = r.lists[:len(r.lists)-1]
		if attribute {
			return // what it belongs to is still to come
		}
	}
	r.size = 0
}
