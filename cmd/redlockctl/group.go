//go:build unix

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// killPatience is how long a killed process may take to be gone. A longer time delays the message that it is not; a shorter
// one blames a process that the system is still ending.
const killPatience = 2 * time.Second

// group is the command and all that it has started.
type group struct {
	leader int // pid, and number of the process group. 0: there is none yet
	// mark is in the environment of each, and of nothing else: it finds those that have left the process group, as setsid
	// and daemons do. Where the system shows no environments they are not found.
	mark string
}

// newMark is one as the environment has it. As its name is new, a redlockctl within the command takes it from nobody.
func newMark() string { return "REDLOCK_RUN_" + rand.Text() + "=1" }

// notKilledError says that processes of the command are left.
type notKilledError struct{ err error }

func (e *notKilledError) Error() string {
	return fmt.Sprintf("the command could NOT be killed (%v): it may be at work beside the next holder of the lock. Run "+
		"redlockctl as the user that the command runs as", e.err)
}

func (e *notKilledError) Unwrap() error { return e.err }

// signal sends a signal to all that is in the process group. [syscall.EPERM]: none of them may be sent signals.
func (g group) signal(s syscall.Signal) error { return syscall.Kill(-g.leader, s) }

// kill kills the group, and returns when nothing of it is left. [syscall.ESRCH]: nothing was left before, either.
// [*notKilledError]: something is, most often as it runs as another user.
func (g group) kill() error {
	for end, first := time.Now().Add(killPatience), true; ; first = false {
		err := g.signal(syscall.SIGKILL)
		gone := errors.Is(err, syscall.ESRCH)
		switch strays := killStrays(g.mark); {
		case gone && strays == 0 && first:
			return err
		case (gone || !g.isAtWork(err)) && strays == 0:
			return nil
		case err != nil && !gone: // of what is left in the process group, all is forbidden
			return &notKilledError{err}
		case time.Now().After(end):
			return &notKilledError{fmt.Errorf("it has not ended for %v after SIGKILL", killPatience)}
		}
		time.Sleep(time.Millisecond)
	}
}
