package election

import (
	"errors"
	"fmt"
)

// Causes of a term's contexts, and errors of Run, Shutdown and Leader. Use errors.Is.
var (
	// ErrLost says that the lease can no longer be trusted. It could not be renewed in time, or a majority of nodes no longer
	// has it, or has it for another process.
	ErrLost = errors.New("election: lost")
	// ErrResigned says that the leader gave up by itself.
	ErrResigned = errors.New("election: resigned")
	// ErrStopped says that Run was told to stop.
	ErrStopped = errors.New("election: stopped")
	// ErrUndrained says that callbacks were still running when the time to drain was over. The lease was abandoned, so nobody
	// else leads before it has run out.
	ErrUndrained = errors.New("election: undrained")
	// ErrRunning says that Run is already running.
	ErrRunning = errors.New("election: running")
	// ErrRestart says that a restart of this process helps: see [Elector.Problems].
	ErrRestart = errors.New("restart this process")
	// ErrNoLeader says that no majority of nodes names a leader.
	ErrNoLeader = errors.New("election: no leader")
)

// PanicError is a panic of a callback, or its call of runtime.Goexit. The contexts of the other callbacks end with it as their
// cause. When these have returned, Run panics with it, unless there is a [WithPanicHandler].
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
