//go:build unix && !linux

package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// processGroup has the command in a group of its own, which gets signals together.
func processGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// adoptOrphans does nothing: orphans go to the system's first process here.
func adoptOrphans() bool { return true }

// kill kills the process group, and returns when the command has ended. [*notKilledError]: something is left, most often as
// it runs as another user.
func (t *tree) kill() error {
	for end := time.Now().Add(killPatience); ; time.Sleep(time.Millisecond) {
		t.reap() // a group of nothing but zombies may forbid signals
		err := t.signal(syscall.SIGKILL)
		switch {
		case errors.Is(err, syscall.ESRCH), err == nil && t.ended:
			return nil
		case err != nil && !errors.Is(err, syscall.EPERM), time.Now().After(end), err != nil && !t.ended:
			if err == nil {
				err = fmt.Errorf("it has not ended for %v after SIGKILL", killPatience)
			}
			return &notKilledError{err}
		}
	}
}

// killOrphans kills the process group when the guard has ended.
func (t *tree) killOrphans(bool) error {
	err := t.signal(syscall.SIGKILL)
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return &notKilledError{err}
}
