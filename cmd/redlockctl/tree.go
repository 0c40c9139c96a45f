//go:build unix

package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// killTimeout is how long a killed process may take to end. If it is too long, the message that a process has not
// ended is late. If it is too short, the message is about processes that the system is still ending.
const killTimeout = 2 * time.Second

// tree is the command with all of its descendants, seen from the process that is the command's parent. On Linux that
// process also adopts the orphans among them.
type tree struct {
	leader int                // pid of the command, and ID of its process group; 0: it has not started
	ended  bool               // the command has ended, so another process may have its pid
	status syscall.WaitStatus // of the command, once it has ended
}

// notKilledError means that processes of the command are left.
type notKilledError struct{ err error }

func (e *notKilledError) Error() string {
	advice := ""
	if errors.Is(e.err, syscall.EPERM) {
		advice = ". Run redlockctl as the user that the command runs as"
	}
	return fmt.Sprintf("the command could NOT be killed (%v): it may still run when the next holder has the lock%s", e.err, advice)
}

func (e *notKilledError) Unwrap() error { return e.err }

// signal sends a signal to all processes of the group. [syscall.EPERM] means that this process may not send signals
// to any of them.
func (t *tree) signal(s syscall.Signal) error {
	if t.leader <= 1 { // the command has not started; 0 and 1 would signal other processes
		return syscall.ESRCH
	}
	return syscall.Kill(-t.leader, s)
}

// reap collects the exit status of each child of this process that has ended, and returns whether no child is left.
// On Linux, no descendant is left then, either.
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
