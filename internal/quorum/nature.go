package quorum

import (
	"errors"
	"fmt"
)

// A call without an answer has one of two natures, which is decided where it fails. An error of the one is [ErrUnsent]:
// no byte of the call was written, so it has no effect, and nothing has to be undone. An error of the other is
// [ErrPerhapsDone]: the node may have acted on it, or may still do so.
var (
	// ErrUnsent says that a node's call was never sent and cannot take effect.
	ErrUnsent = errors.New("not sent")
	// ErrPerhapsDone says that a node's call was sent, at least in part, and got no answer.
	ErrPerhapsDone = errors.New("perhaps done")
	// ErrNoAnswer says that a node's call has not ended yet: it may still take effect.
	ErrNoAnswer = errors.New("no answer in time")

	// ErrNotTried says that nobody tried to send a node's call. It is an ErrUnsent.
	ErrNotTried error = reason{ErrUnsent, "not sent"}
	// ErrHeldUp says that this process, or a hook or a limiter of its client, was busy for long after the deadline of a call,
	// for which the node is not to blame. The call may be of either nature.
	ErrHeldUp = errors.New("this process had no processor in time, or a hook or a limiter of its client took too long")
	// ErrClosed says that the call came after Close. It is an ErrUnsent.
	ErrClosed error = reason{ErrUnsent, "not sent: closed"}

	errNotAwaited = reason{ErrNoAnswer, "not waited for: the other nodes had decided the outcome"}
	errNotAsked   = reason{ErrNotTried, "not asked: other nodes were asked first"}
	errNotYet     = reason{ErrNoAnswer, "not sent in time: no connection yet, or held up in this process"}
	errAnother    = errors.New("another server has answered than the one to which the address leads")
	errGone       = errors.New("its caller no longer waits")
	errExpired    = reason{ErrNotTried, "not sent: earlier calls are still waiting for this node"}
)

// reason is one of the errors above with another text.
type reason struct {
	error
	text string
}

func (r reason) Error() string { return r.text }
func (r reason) Unwrap() error { return r.error }

// failure is the nature of a failed call and its cause.
type failure struct{ nature, cause error }

func (f failure) Error() string   { return fmt.Sprintf("%v: %v", f.nature, f.cause) }
func (f failure) Unwrap() []error { return []error{f.nature, f.cause} }
