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

// killBefore is the longest time before the end of the lease at which a command that ignores SIGTERM is killed. It covers
// a container whose processes get no processor time for a few hundred milliseconds.
const killBefore = time.Second

// supervisor makes a command end before its lease does.
type supervisor struct {
	lease    *redlock.Lease
	grace    time.Duration
	signals  <-chan os.Signal // passed on to the command
	extended <-chan struct{}  // gets a signal after each extension of the lease
	err      io.Writer

	watchdog *watchdog
	tree     tree // the command's processes
	adopted  bool // this process adopts the command's orphans if the watchdog has ended
	warned   bool // the warning that the command runs as another user was printed
}

// run runs a command until it ends, or until shortly before the lease does. The error has the exit code.
func (s *supervisor) run(child *exec.Cmd) error {
	s.adopted = adoptOrphans() // before the watchdog starts, because the watchdog is a child
	watchdog, err := startWatchdog(child)
	if err != nil {
		return exit{noLease, fmt.Errorf("failed to start the watchdog, without which nothing stops the command if this process is killed: %w", err)}
	}
	s.watchdog = watchdog
	_ = watchdog.run(child, s.lease, s.watchdogBefore()) // an error means that the watchdog has ended or hangs; attend notices that
	err = s.attend()
	if watchdog.last.Late && !isLost(err) {
		return exit{lostLease, fmt.Errorf("the command was killed: this process was held up until shortly before the end of "+
			"the lease at %s", s.lease.Deadline().Format(time.StampMilli))}
	}
	if err == nil {
		return codeOfCommand(watchdog.last.Status)
	}
	return err
}

// attend waits until no process of the command is left, or those that are left could not be killed. It returns nil if
// the command has ended by itself.
func (s *supervisor) attend() error {
	started := s.watchdog.started
	var signals <-chan os.Signal // nil until the command has started
	for {
		if s.watchdog.watch(s.lease, s.watchdogBefore()) != nil {
			return s.over() // the watchdog has ended, or hangs
		}
		select {
		case <-started:
			started, signals = nil, s.signals
			s.tree.leader = s.watchdog.first.PID
		case <-s.watchdog.ended:
			return s.over()
		case signal := <-signals:
			s.pass(signal.(syscall.Signal))
		case <-s.extended: // send the new end to the watchdog
			s.pass(0)
		case <-s.lease.Context().Done():
			if err := s.kill(); err != nil {
				return exit{lostLease, fmt.Errorf("the lock is lost: %w; %w", lossOf(s.lease), err)}
			}
			return exit{lostLease, fmt.Errorf("the lock is lost, the command was killed: %w", lossOf(s.lease))}
		case <-time.After(time.Until(s.lease.Deadline()) - s.grace):
			if time.Until(s.lease.Deadline()) > s.grace {
				continue // the lease was extended meanwhile
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

// over returns how the command and all of its descendants ended. If the watchdog ended without reporting that, over
// kills them.
func (s *supervisor) over() error {
	err := s.kill()
	problem := errors.New("the watchdog has ended, and without it nothing stops the command if this process is killed")
	switch {
	case s.watchdog.first.Problem != "":
		return exit{notRunnable, errors.New(s.watchdog.first.Problem)}
	case !s.watchdog.last.Final && err != nil:
		return exit{lostLease, fmt.Errorf("%w; %w", problem, err)}
	case !s.watchdog.last.Final:
		return exit{failed, fmt.Errorf("the command was stopped: %w", problem)}
	case err != nil:
		return exit{lostLease, fmt.Errorf("the command has ended and left processes: %w", err)}
	}
	return nil
}

// pass passes a signal on to the command; 0 sends none. It warns if this process may not send signals to the command.
func (s *supervisor) pass(signal syscall.Signal) {
	err := s.tree.signal(signal)
	if !errors.Is(err, syscall.EPERM) || s.warned && signal == 0 {
		return // the command may just have ended
	}
	s.warned = true
	complain(s.err, fmt.Errorf("the command runs as another user: no signal reaches it, and it could NOT be killed if the "+
		"lock were lost. Run redlockctl as that user"))
}

// stop ends the command before the lease ends, and returns whether it was stopped or killed.
func (s *supervisor) stop() (how string, err error) {
	end := s.lease.Deadline()
	how = "stopped"
	if err := s.tree.signal(syscall.SIGTERM); !errors.Is(err, syscall.EPERM) { // on EPERM no process got it, and waiting is useless
		select {
		case <-s.watchdog.ended:
		case <-s.lease.Context().Done():
			how = "killed"
		case <-time.After(time.Until(end) - beforeEnd(s.grace)):
			how = "killed"
		}
	}
	return how, s.kill() // including processes that the command has left running
}

// kill kills the command with all of its descendants, and ends the watchdog. It returns an error unless nothing is left.
func (s *supervisor) kill() error {
	last := s.watchdog.end()
	switch {
	case !last.Final: // the watchdog was killed, or does not answer
		return s.tree.killOrphans(s.adopted)
	case last.Problem != "":
		return errors.New(last.Problem)
	}
	return nil
}

// beforeEnd returns how long before the end of the lease a command that ignores SIGTERM is killed.
func beforeEnd(grace time.Duration) time.Duration { return min(killBefore, grace/2) }

// watchdogBefore returns how long before the end of the lease the watchdog kills the command. The watchdog does so later than
// this process would.
func (s *supervisor) watchdogBefore() time.Duration { return beforeEnd(s.grace) / 2 }

// codeOfCommand returns the exit code for the command's status; nil is 0.
func codeOfCommand(status syscall.WaitStatus) error {
	switch {
	case status.Signaled():
		return exit{128 + int(status.Signal()), nil}
	case status.ExitStatus() > 0:
		return exit{status.ExitStatus(), nil}
	}
	return nil
}

// lossOf returns why a lease has ended.
func lossOf(lease *redlock.Lease) error { return context.Cause(lease.Context()) }
