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
func supervise(
	lease *redlock.Lease, child *exec.Cmd, grace time.Duration, signals <-chan os.Signal, extended <-chan struct{},
) error {
	// The command is killed with the thread that has started it: this one has to live as long as the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	child.SysProcAttr = processGroup()
	guard, err := newGuard()
	if err != nil {
		return exit{noLease, fmt.Errorf("nothing would stop the command if this process were killed: %w", err)}
	}
	if err := child.Start(); err != nil {
		guard.end()
		return exit{notRunnable, err}
	}
	ended := make(chan struct{}) // closed when it has, with waited
	var waited error
	go func() { // is over before supervise returns
		defer close(ended)
		waited = child.Wait()
	}()
	err = attend(lease, guard, child.Process.Pid, grace, signals, extended, ended)
	if guard.end() && !isLost(err) {
		return exit{lostLease, fmt.Errorf("the command was killed: this process was held up until shortly before the end of "+
			"the lease at %s", lease.Deadline().Format(time.StampMilli))}
	}
	if err == nil {
		return codeOfChild(child, waited)
	}
	return err
}

// attend returns when nothing of the command is left: nil where it has ended by itself.
func attend(
	lease *redlock.Lease, guard *guard, leader int, grace time.Duration,
	signals <-chan os.Signal, extended, ended <-chan struct{},
) error {
	group := -leader
	for {
		// Its turn comes later than that of this process.
		if err := guard.watch(leader, lease, beforeEnd(grace)/2); err != nil {
			_ = stop(lease, group, grace, ended)
			return exit{failed, fmt.Errorf("the command was stopped: the guard has ended, and nothing would do so if this "+
				"process were killed: %w", err)}
		}
		select {
		case <-ended:
			_ = syscall.Kill(group, syscall.SIGKILL) // what it has left running may not go on without the lock
			return nil
		case s := <-signals:
			_ = syscall.Kill(group, s.(syscall.Signal)) // it may just have ended
		case <-extended: // the guard has to know
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
	case <-time.After(time.Until(end) - beforeEnd(grace)):
		how = "killed"
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // also what it has left running
	if how == "killed" {
		<-ended
	}
	return exit{lostLease, fmt.Errorf("the lease could not be extended, the command was %s before its end at %s",
		how, end.Format(time.StampMilli))}
}

// beforeEnd is how long before the end of the lease a command that ignores SIGTERM is killed.
func beforeEnd(grace time.Duration) time.Duration { return min(killBefore, grace/2) }

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
