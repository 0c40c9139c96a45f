//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// killBefore is how long before the end of the lease a command that ignores SIGTERM is killed, at most.
const killBefore = 200 * time.Millisecond

// supervisor has a command end before its lease does.
type supervisor struct {
	lease    *redlock.Lease
	grace    time.Duration
	signals  <-chan os.Signal // to be passed on
	extended <-chan struct{}  // has a signal when the lease was
	err      io.Writer

	guard  *guard
	group  group
	ended  chan struct{} // closed when the command has
	warned bool          // that the command runs as another user
}

// run runs a command until its end, or until shortly before the lease's. The error has its exit code.
func (s *supervisor) run(child *exec.Cmd) error {
	// The command is killed with the thread that has started it: this one has to live as long as the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	child.SysProcAttr = processGroup()
	mark := newMark()
	child.Env = append(child.Env, mark)
	guard, err := newGuard()
	if err != nil {
		return exit{noLease, fmt.Errorf("nothing would stop the command if this process were killed: %w", err)}
	}
	if err := child.Start(); err != nil {
		guard.end()
		return exit{notRunnable, err}
	}
	s.guard, s.group, s.ended = guard, group{child.Process.Pid, mark}, make(chan struct{})
	var waited error
	go func() { // is over before run returns, unless the command could not be killed
		defer close(s.ended)
		waited = child.Wait()
	}()
	err = s.attend()
	if guard.end() && !isLost(err) {
		return exit{lostLease, fmt.Errorf("the command was killed: this process was held up until shortly before the end of "+
			"the lease at %s", s.lease.Deadline().Format(time.StampMilli))}
	}
	if err == nil {
		return codeOfChild(child, waited)
	}
	return err
}

// attend returns when nothing of the command is left, or what is left could not be killed. Nil: it has ended by itself.
func (s *supervisor) attend() error {
	for {
		// Its turn comes later than that of this process.
		if err := s.guard.watch(s.group, s.lease, beforeEnd(s.grace)/2); err != nil {
			problem := fmt.Errorf("the guard has ended, and nothing would stop the command if this process were killed: %w", err)
			if _, err := s.stop(); err != nil {
				return exit{lostLease, fmt.Errorf("%w; %w", problem, err)}
			}
			return exit{failed, fmt.Errorf("the command was stopped: %w", problem)}
		}
		select {
		case <-s.ended:
			// What it has left running may not go on without the lock.
			if err := s.kill(); err != nil {
				return exit{lostLease, fmt.Errorf("the command has ended and left processes: %w", err)}
			}
			return nil
		case signal := <-s.signals:
			s.pass(signal.(syscall.Signal))
		case <-s.extended: // the guard has to know
			s.pass(0)
		case <-s.lease.Context().Done():
			if err := s.kill(); err != nil {
				return exit{lostLease, fmt.Errorf("the lock is lost: %w; %w", lossOf(s.lease), err)}
			}
			<-s.ended
			return exit{lostLease, fmt.Errorf("the lock is lost, the command was killed: %w", lossOf(s.lease))}
		case <-time.After(time.Until(s.lease.Deadline()) - s.grace):
			if time.Until(s.lease.Deadline()) > s.grace {
				continue // it was extended meanwhile
			}
			end := s.lease.Deadline().Format(time.StampMilli)
			how, err := s.stop()
			if err != nil {
				return exit{lostLease, fmt.Errorf("the lease could not be extended, it ends at %s: %w", end, err)}
			}
			return exit{lostLease, fmt.Errorf("the lease could not be extended, the command was %s before its end at %s", how, end)}
		}
	}
}

// pass passes a signal on; 0 is none. It complains where the command may not be sent any.
func (s *supervisor) pass(signal syscall.Signal) {
	err := s.group.signal(signal)
	if !errors.Is(err, syscall.EPERM) || s.warned && signal == 0 {
		return // it may just have ended
	}
	s.warned = true
	complain(s.err, fmt.Errorf("the command runs as another user: no signal reaches it, and it could NOT be killed if the "+
		"lock were lost. Run redlockctl as that user"))
}

// stop ends the command before the lease ends, and returns how: stopped or killed.
func (s *supervisor) stop() (how string, err error) {
	end := s.lease.Deadline()
	how = "stopped"
	if err := s.group.signal(syscall.SIGTERM); !errors.Is(err, syscall.EPERM) { // else there is nothing to wait for
		select {
		case <-s.ended:
		case <-s.lease.Context().Done():
			how = "killed"
		case <-time.After(time.Until(end) - beforeEnd(s.grace)):
			how = "killed"
		}
	}
	if err := s.kill(); err != nil { // also what it has left running
		return "", err
	}
	<-s.ended
	return how, nil
}

// kill returns an error unless nothing of the command is left.
func (s *supervisor) kill() error {
	err := s.group.kill()
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
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
