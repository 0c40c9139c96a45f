//go:build unix

package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// killPatience is how long a killed process may take to be gone. A longer time delays the message that it is not; a shorter
// one blames a process that the system is still ending.
const killPatience = 2 * time.Second

// group is the process group of the command: its leader's pid. 0: there is none yet.
type group int

// notKilledError says that processes of the command are left.
type notKilledError struct{ err error }

func (e *notKilledError) Error() string {
	return fmt.Sprintf("the command could NOT be killed (%v): it may be at work beside the next holder of the lock. Run "+
		"redlockctl as the user that the command runs as", e.err)
}

func (e *notKilledError) Unwrap() error { return e.err }

// signal sends a signal to all processes of the group. [syscall.EPERM]: none of them may be sent signals.
func (g group) signal(s syscall.Signal) error { return syscall.Kill(-int(g), s) }

// kill kills the group, and returns when nothing of it is left. [syscall.ESRCH]: nothing was left before, either.
// [*notKilledError]: something is, most often as it runs as another user.
func (g group) kill() error {
	for end, first := time.Now().Add(killPatience), true; ; first = false {
		err := g.signal(syscall.SIGKILL)
		switch {
		case errors.Is(err, syscall.ESRCH) && first:
			return err
		case errors.Is(err, syscall.ESRCH), !g.isAtWork(err):
			return nil
		case err != nil: // of what is left, all is forbidden
			return &notKilledError{err}
		case time.Now().After(end):
			return &notKilledError{fmt.Errorf("it has not ended for %v after SIGKILL", killPatience)}
		}
		time.Sleep(time.Millisecond)
	}
}
