//go:build unix && !linux

package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// processGroup starts the command in its own process group, so that signals reach the whole group.
func processGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// adoptOrphans does nothing: on this system orphans go to the first process.
func adoptOrphans() bool { return true }

// kill kills the process group, and returns when the command has ended. [*notKilledError] means that processes are
// left, most often because they run as another user.
func (t *tree) kill() error {
	for end := time.Now().Add(killTimeout); ; time.Sleep(time.Millisecond) {
		t.reap() // a group of zombies alone may refuse signals
		err := t.signal(syscall.SIGKILL)
		switch {
		case errors.Is(err, syscall.ESRCH), err == nil && t.ended:
			return nil
		case err != nil && !errors.Is(err, syscall.EPERM), time.Now().After(end), err != nil && !t.ended:
			if err == nil {
				err = fmt.Errorf("it has not ended %v after SIGKILL", killTimeout)
			}
			return &notKilledError{err}
		}
	}
}

// killOrphans kills the process group when the watchdog has ended.
func (t *tree) killOrphans(bool) error {
	err := t.signal(syscall.SIGKILL)
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return &notKilledError{err}
}
