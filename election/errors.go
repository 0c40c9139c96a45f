package election

import (
	"errors"
	"fmt"
)

// Why a context of a term ended, what Run and Shutdown return, and what Leader may answer; to be
// told apart with errors.Is.
var (
	// ErrLost says that the lease can no longer be trusted: it could not be renewed in time, or
	// was seen gone or another's on a majority of nodes.
	ErrLost = errors.New("election: lost")
	// ErrResigned says that the leader gave up by itself.
	ErrResigned = errors.New("election: resigned")
	// ErrStopped says that Run was told to stop.
	ErrStopped = errors.New("election: stopped")
	// ErrUndrained says that callbacks were still running when the time to drain was over. The
	// lease was then abandoned: nobody else leads before it has run out.
	ErrUndrained = errors.New("election: undrained")
	// ErrRunning says that Run is running already.
	ErrRunning = errors.New("election: running")
	// ErrNoLeader says that no majority of nodes names a leader.
	ErrNoLeader = errors.New("election: no leader")
)

// PanicError is a panic of a callback, or a call of runtime.Goexit. It is the cause of the other callbacks' contexts, and Run
// panics with it when they have returned, unless there is a [WithPanicHandler].
type PanicError struct {
	Value any
	Stack []byte // of the callback's goroutine
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("election: callback panicked: %v", e.Value)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
