package scheduler

import (
	"errors"
	"fmt"
)

// Errors of the methods, in addition to [ErrSpec], and a cause of a run's context. Use errors.Is.
var (
	// ErrName says that a job's name breaks the rule for names, or is taken.
	ErrName = errors.New("scheduler: bad job name")
	// ErrUnknownJob says that there is no job of that name.
	ErrUnknownJob = errors.New("scheduler: unknown job")
	// ErrJobInUse says that the leader has the job, so it cannot be forgotten.
	ErrJobInUse = errors.New("scheduler: the leader has the job")
	// ErrNotRunning says that the job has no run to cancel.
	ErrNotRunning = errors.New("scheduler: no run is under way")
	// ErrNotTick says that an instant is no tick of the job's present spec, or too long ago.
	ErrNotTick = errors.New("scheduler: not a tick")
	// ErrNotSettled says that a tick has not come, or has not been decided, or that a run of it is under way.
	ErrNotSettled = errors.New("scheduler: not settled")
	// ErrCanceled is the cause of a run's context after [Scheduler.Cancel].
	ErrCanceled = errors.New("scheduler: canceled")
	// ErrReplaced is the cause of a run's context if the next tick came and the job's overlap is [Replace].
	ErrReplaced = errors.New("scheduler: replaced by a newer tick")
)

var (
	errShutdown   = errors.New("scheduler: shut down")
	errNoDeadline = errors.New("the elector's drain timeout has passed, and the context of Shutdown has no deadline")
	errUnsure     = errors.New("nodes that have not answered may know more of them")
	errRemoved    = errors.New("the job was removed")
	errGoexit     = errors.New("scheduler: the run called runtime.Goexit")
)

// panicError is the error of a function that panicked.
type panicError struct {
	what  string
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("scheduler: %s panicked: %v", e.what, e.value)
}
