//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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

	guard   *guard
	tree    tree // of the command
	adopted bool // orphans among its descendants come to this process when the guard has ended
	warned  bool // that the command runs as another user
}

// run runs a command until its end, or until shortly before the lease's. The error has its exit code.
func (s *supervisor) run(child *exec.Cmd) error {
	s.adopted = adoptOrphans() // before the guard: that one is a child
	guard, err := startGuard(child)
	if err != nil {
		return exit{noLease, fmt.Errorf("nothing would stop the command if this process were killed: %w", err)}
	}
	s.guard = guard
	_ = guard.run(child, s.lease, s.guardBefore()) // a guard that does not read it has ended, or hangs
	err = s.attend()
	if guard.last.Late && !isLost(err) {
		return exit{lostLease, fmt.Errorf("the command was killed: this process was held up until shortly before the end of "+
			"the lease at %s", s.lease.Deadline().Format(time.StampMilli))}
	}
	if err == nil {
		return codeOfCommand(guard.last.Status)
	}
	return err
}

// attend returns when nothing of the command is left, or what is left could not be killed. Nil: it has ended by itself.
func (s *supervisor) attend() error {
	started := s.guard.started
	var signals <-chan os.Signal // nil until the command is there to get them
	for {
		if s.guard.watch(s.lease, s.guardBefore()) != nil {
			return s.over() // it has ended, or hangs
		}
		select {
		case <-started:
			started, signals = nil, s.signals
			s.tree.leader = s.guard.first.PID
		case <-s.guard.ended:
			return s.over()
		case signal := <-signals:
			s.pass(signal.(syscall.Signal))
		case <-s.extended: // the guard has to know
			s.pass(0)
		case <-s.lease.Context().Done():
			if err := s.kill(); err != nil {
				return exit{lostLease, fmt.Errorf("the lock is lost: %w; %w", lossOf(s.lease), err)}
			}
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

// over is the end of the command and all of its descendants, as the guard has reported it or where that has ended before.
func (s *supervisor) over() error {
	err := s.kill()
	problem := errors.New("the guard has ended, and nothing would stop the command if this process were killed")
	switch {
	case s.guard.first.Problem != "":
		return exit{notRunnable, errors.New(s.guard.first.Problem)}
	case !s.guard.last.Final && err != nil:
		return exit{lostLease, fmt.Errorf("%w; %w", problem, err)}
	case !s.guard.last.Final:
		return exit{failed, fmt.Errorf("the command was stopped: %w", problem)}
	case err != nil:
		return exit{lostLease, fmt.Errorf("the command has ended and left processes: %w", err)}
	}
	return nil
}

// pass passes a signal on; 0 is none. It complains where the command may not be sent any.
func (s *supervisor) pass(signal syscall.Signal) {
	err := s.tree.signal(signal)
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
	if err := s.tree.signal(syscall.SIGTERM); !errors.Is(err, syscall.EPERM) { // else there is nothing to wait for
		select {
		case <-s.guard.ended:
		case <-s.lease.Context().Done():
			how = "killed"
		case <-time.After(time.Until(end) - beforeEnd(s.grace)):
			how = "killed"
		}
	}
	return how, s.kill() // also what it has left running
}

// kill ends the command with all of its descendants, and the guard. It returns an error unless nothing is left.
func (s *supervisor) kill() error {
	last := s.guard.end()
	switch {
	case !last.Final: // it was killed, or does not answer
		return s.tree.killOrphans(s.adopted)
	case last.Problem != "":
		return errors.New(last.Problem)
	}
	return nil
}

// beforeEnd is how long before the end of the lease a command that ignores SIGTERM is killed.
func beforeEnd(grace time.Duration) time.Duration { return min(killBefore, grace/2) }

// guardBefore is how long before the end of the lease the guard kills the command: its turn comes later than that of this
// process.
func (s *supervisor) guardBefore() time.Duration { return beforeEnd(s.grace) / 2 }

// codeOfCommand is the exit code of redlockctl, nil for 0, for that of the command.
func codeOfCommand(status syscall.WaitStatus) error {
	switch {
	case status.Signaled():
		return exit{128 + int(status.Signal()), nil}
	case status.ExitStatus() > 0:
		return exit{status.ExitStatus(), nil}
	}
	return nil
}

// lossOf is why a lease is over.
func lossOf(lease *redlock.Lease) error { return context.Cause(lease.Context()) }
