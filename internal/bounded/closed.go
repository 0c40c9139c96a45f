package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// first is the start of a server's first reply, if it explains why the server closes the connection after it. A client
// that takes that reply for an answer to its command loses it, and reports only that the connection was closed.
type first struct {
	plain bool   // the connection does not use TLS
	heard bool   // something was received
	alert bool   // it was a TLS alert
	turns string // the server's text if it turns the connection away; otherwise empty
}

// turnsAway begin what servers say before they close a connection that they do not want. No other reply is kept: one may
// repeat the password that it refuses.
var turnsAway = []string{"-DENIED ", "-ERR max number of clients"}

// alert begins what a server that expects TLS may say to one who does not speak it.
var alert = []byte{0x15, 0x03}

func (f *first) read(p []byte) {
	if f.heard || len(p) == 0 {
		return
	}
	f.heard, f.alert = true, f.plain && bytes.HasPrefix(p, alert)
	for _, begin := range turnsAway {
		if bytes.HasPrefix(p, []byte(begin)) {
			line, _, _ := bytes.Cut(p[1:], []byte("\r\n"))
			sentence, _, _ := bytes.Cut(line, []byte(". ")) // protected mode has advice of a page
			f.turns = string(sentence)
		}
	}
}

// explain says more of an error of the connection, if the connection is closed.
func (f *first) explain(err error) error {
	if f.alert {
		err = io.EOF
	}
	switch {
	case err == nil || !isClosed(err):
		return err
	case f.turns != "":
		return &closedError{fmt.Sprintf("the server turns connections away: %q", f.turns), err}
	case f.alert, f.plain && !f.heard:
		return &closedError{"the server closed the connection before it answered; if it expects TLS, the URL begins with rediss://", err}
	}
	return err
}

// closedError says why a server may have closed the connection. It unwraps to a list: of an error that unwraps to one error,
// go-redis (9.23) returns only that one when it fails to set a connection up.
type closedError struct {
	why string
	err error
}

func (e *closedError) Error() string {
	if op, ok := errors.AsType[*net.OpError](e.err); ok {
		return e.why + ": " + op.Err.Error() // without the port of the client, another one each time
	}
	return e.why + ": " + e.err.Error()
}

func (e *closedError) Unwrap() []error { return []error{e.err} }

func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
