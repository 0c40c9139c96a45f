// Package bounded reads replies of a Redis server and refuses oversized ones. go-redis allocates what a reply announces
// before any of it has arrived, and follows nested lists to any depth. A faulty server, or an attacker in between,
// could crash the process with a few bytes.
package bounded

import (
	"fmt"
	"net"
	"runtime"
	"syscall"
)

// Limits of a reply. The replies that this library expects are far smaller.
const (
	MaxText  = 1 << 20  // bytes of one text
	MaxReply = 64 << 20 // bytes of a whole reply
	maxLine  = 1 << 16  // bytes of a number, a status, an error
	maxList  = 1 << 20  // elements of one list
	maxDepth = 16       // nested lists
)

// New wraps the connection to a server with limits. From the first reply beyond them on, reads return an error, and the
// connection is closed. Only one goroutine may read at a time.
func New(c net.Conn) net.Conn {
	limited := &conn{Conn: c}
	if raw, ok := c.(syscall.Conn); ok { // go-redis uses it to detect broken idle connections; TLS lacks it
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
	err     error // why reading has stopped
}

// Write writes to the wrapped connection.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.first.explain(err)
}

// Read reads from the wrapped connection.
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
		_ = c.Conn.Close() // the rest of the stream cannot be parsed
		return 0, c.err
	}
	return n, c.first.explain(err)
}

// replies follows the replies in a stream of bytes, in RESP2 or RESP3.
type replies struct {
	lists []list // lists that contain the next element, the innermost last
	size  int    // bytes of this reply so far
	skip  int    // remaining bytes of a text
	line  int    // bytes of the line so far; 0: the next byte is a type

	kind  byte // type of the line
	count int  // the number in it
	minus bool // before the number
	wrong bool // it is not a number
}

type list struct {
	left      int  // remaining elements
	attribute bool // an attribute precedes an element and is not one itself
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

// byte handles a byte of a line.
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

// announced checks what a line announces.
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

// element records the end of an element, and of the lists that end with it.
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
			return // its element follows
		}
	}
	r.size = 0
}

// Call calls fn, in which go-redis reads a reply, and returns a runtime panic in it as an error: go-redis indexes lists
// and asserts types on the assumption that a real Redis server sent them. Other panics continue.
func Call(fn func() error) (err error) {
	defer func() {
		v := recover()
		if wrong, ok := v.(runtime.Error); ok {
			err = fmt.Errorf("the reply of the server cannot be read: %w", wrong)
		} else if v != nil {
			panic(v)
		}
	}()
	return fn()
}
