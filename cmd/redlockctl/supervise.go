//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// killBefore is how long before the end of the lease a command that ignores SIGTERM is killed, at most.
const killBefore = 200 * time.Millisecond

// supervise runs a command until its end, or until shortly before the lease's. The error has its exit code.
func supervise(lease *redlock.Lease, child *exec.Cmd, grace time.Duration, signals <-chan os.Signal) error {
	// The command is killed with the thread that has started it: this one has to live as long as the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	child.SysProcAttr = processGroup()
	guard, err := newGuard()
	if err != nil {
		return exit{noLease, fmt.Errorf("nothing would stop the command if this process were killed: %w", err)}
	}
	defer guard.end()
	if err := child.Start(); err != nil {
		return exit{notRunnable, err}
	}
	group := -child.Process.Pid
	ended := make(chan struct{}) // closed when it has, with waited
	var waited error
	go func() { // is over before supervise returns
		defer close(ended)
		waited = child.Wait()
	}()
	if err := guard.watch(child.Process.Pid); err != nil {
		_ = syscall.Kill(group, syscall.SIGKILL)
		<-ended
		return exit{noLease, fmt.Errorf("nothing would stop the command if this process were killed: %w", err)}
	}

	for {
		select {
		case <-ended:
			_ = syscall.Kill(group, syscall.SIGKILL) // what it has left running may not go on without the lock
			return codeOfChild(child, waited)
		case s := <-signals:
			_ = syscall.Kill(group, s.(syscall.Signal)) // it may just have ended
		case <-lease.Context().Done():
			_ = syscall.Kill(group, syscall.SIGKILL)
			<-ended
			return exit{lostLease, fmt.Errorf("the lock is lost, the command was killed: %w", lossOf(lease))}
		case <-time.After(time.Until(lease.Deadline()) - grace):
			if time.Until(lease.Deadline()) > grace {
				continue // it was extended meanwhile
			}
			return stop(lease, group, grace, ended)
		}
	}
}

// stop ends the command before the lease ends.
func stop(lease *redlock.Lease, group int, grace time.Duration, ended <-chan struct{}) error {
	end := lease.Deadline()
	_ = syscall.Kill(group, syscall.SIGTERM) // it may just have ended
	how := "stopped"
	select {
	case <-ended:
	case <-lease.Context().Done():
		how = "killed"
	case <-time.After(time.Until(end) - min(killBefore, grace/2)):
		how = "killed"
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // also what it has left running
	if how == "killed" {
		<-ended
	}
	return exit{lostLease, fmt.Errorf("the lease could not be extended, the command was %s before its end at %s",
		how, end.Format(time.StampMilli))}
}

func codeOfChild(child *exec.Cmd, err error) error {
	status, ok := child.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return exit{128 + int(status.Signal()), nil}
	case child.ProcessState.ExitCode() > 0:
		return exit{child.ProcessState.ExitCode(), nil}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return exit{failed, err}
	}
	return nil
}

// lossOf is why a lease is over.
func lossOf(lease *redlock.Lease) error { return context.Cause(lease.Context()) }
