package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// first is the start of a server's first reply, if that explains why the server then closes the connection. A client
// that takes this reply for the answer to its command loses it, and reports only that the connection was closed.
type first struct {
	plain    bool   // the connection does not use TLS
	received bool   // something was received
	alert    bool   // it was a TLS alert
	turns    string // the server's text if it turns the connection away; otherwise empty
}

// turnsAway are the starts of the replies with which servers turn a connection away before they close it. Other replies
// are not kept: they may repeat the password that they refuse.
var turnsAway = []string{"-DENIED ", "-ERR max number of clients"}

// alert is the start of the reply of a server that expects TLS, to a client that does not use it.
var alert = []byte{0x15, 0x03}

func (f *first) read(p []byte) {
	if f.received || len(p) == 0 {
		return
	}
	f.received, f.alert = true, f.plain && bytes.HasPrefix(p, alert)
	for _, begin := range turnsAway {
		if bytes.HasPrefix(p, []byte(begin)) {
			line, _, _ := bytes.Cut(p[1:], []byte("\r\n"))
			sentence, _, _ := bytes.Cut(line, []byte(". ")) // in protected mode, a page of advice follows
			f.turns = string(sentence)
		}
	}
}

// explain adds the reason to an error of the connection if the connection was closed.
func (f *first) explain(err error) error {
	if f.alert {
		err = io.EOF
	}
	switch {
	case err == nil || !isClosed(err):
		return err
	case f.turns != "":
		return &closedError{fmt.Sprintf("the server turns connections away: %q", f.turns), err}
	case f.alert, f.plain && !f.received:
		return &closedError{"the server closed the connection before it answered; if it expects TLS, the URL begins with rediss://", err}
	}
	return err
}

// closedError says why a server may have closed the connection. It unwraps to a list, because go-redis (9.23) replaces
// an error that unwraps to one error with that error when it fails to set up a connection.
type closedError struct {
	why string
	err error
}

func (e *closedError) Error() string {
	if op, ok := errors.AsType[*net.OpError](e.err); ok {
		return e.why + ": " + op.Err.Error() // without the client's port, which differs each time
	}
	return e.why + ": " + e.err.Error()
}

func (e *closedError) Unwrap() []error { return []error{e.err} }

func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
