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

// tree is the command with all of its descendants, as the process sees it that is their parent or, on Linux, gets the
// orphans among them.
type tree struct {
	leader int                // pid of the command, and number of its process group; 0: it has not started
	ended  bool               // the command has, and its pid may be another's
	status syscall.WaitStatus // of the command, once it has ended
}

// notKilledError says that processes of the command are left.
type notKilledError struct{ err error }

func (e *notKilledError) Error() string {
	advice := ""
	if errors.Is(e.err, syscall.EPERM) {
		advice = ". Run redlockctl as the user that the command runs as"
	}
	return fmt.Sprintf("the command could NOT be killed (%v): it may be at work beside the next holder of the lock%s", e.err, advice)
}

func (e *notKilledError) Unwrap() error { return e.err }

// signal sends a signal to all that is in the process group. [syscall.EPERM]: none of them may be sent signals.
func (t *tree) signal(s syscall.Signal) error {
	if t.leader <= 1 { // 0 and 1 are not groups of the command: it has not started
		return syscall.ESRCH
	}
	return syscall.Kill(-t.leader, s)
}

// reap takes the exit status of each child of this process that has ended, and returns whether no child is left. On Linux
// there is no descendant then, either.
func (t *tree) reap() (none bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, noHang, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid == 0:
			return errors.Is(err, syscall.ECHILD)
		case pid == t.leader:
			t.ended, t.status = true, status
		}
	}
}
