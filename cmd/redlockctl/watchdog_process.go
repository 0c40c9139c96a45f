//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pollEvery is the longest wait before the watchdog reads its clock again, because timeouts of the system do not count
// the time for which the machine was suspended.
const pollEvery = 200 * time.Millisecond

// Orders to the watchdog, each a line.
const (
	orderRun   = "run"   // with the instant to kill at, the file, the arguments and the environment
	orderWatch = "watch" // with the instant to kill at
	orderKill  = "kill"
)

// watchdogState is the state of the watchdog.
type watchdogState struct {
	orders, reports *os.File
	childEnded      *os.File // readable when a child may have ended
	text            []byte   // unprocessed orders, from the start of a line
	at              time.Duration
	tree            tree
}

// runWatchdog runs the command that it is ordered to run. It kills the command and all of its descendants at the instant
// that the last order names, or when the orders end. The exit code says which of the two it was.
func runWatchdog(orders, reports *os.File) error {
	// The kernel kills the command when the thread that started it ends, so this thread must live as long as the process.
	runtime.LockOSThread()
	g := &watchdogState{orders: orders, reports: reports}
	for _, own := range []*os.File{orders, reports} {
		unix.CloseOnExec(int(own.Fd()))
	}
	if !adoptOrphans() {
		return g.report(report{Problem: "failed to adopt orphans, so the command's processes cannot be distinguished from others"})
	}
	wake, stop, err := wakeByChildren()
	if err != nil {
		return g.report(report{Problem: err.Error()})
	}
	defer stop()
	g.childEnded = wake
	return g.attend()
}

// wakeByChildren returns a pipe that becomes readable when a child of this process has ended.
func wakeByChildren() (pipe *os.File, stop func(), err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGCHLD)
	go func() { // until stop, which waits for it
		defer close(done)
		for range signals {
			_, _ = write.Write([]byte{0}) // the pipe is emptied soon
		}
	}()
	return read, func() {
		signal.Stop(signals)
		close(signals)
		_ = read.Close() // so that the writer does not block
		<-done
		_ = write.Close()
	}, nil
}

func (g *watchdogState) attend() error {
	for {
		if g.tree.reap(); g.tree.ended { // kill the processes that it has left running
			return g.kill(report{})
		}
		wait := pollEvery
		if g.tree.leader > 1 {
			wait = max(min(wait, g.at-sinceBoot()), 0)
		}
		more, err := g.wait(wait)
		switch {
		case err != nil:
			return errors.Join(err, g.kill(report{}))
		case !more && g.tree.leader > 1 && sinceBoot() >= g.at:
			// No order is waiting. The watchdog reads orders first, because the lease may have been extended while the
			// watchdog itself was stopped.
			if err := g.kill(report{Late: true}); err != nil {
				return err
			}
			return exit{lostLease, nil}
		case !more:
			continue
		}
		piece := make([]byte, 64<<10)
		n, err := g.orders.Read(piece)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, g.kill(report{}))
		}
		g.text = append(g.text, piece[:n]...)
		for line, rest, whole := bytes.Cut(g.text, []byte("\n")); whole; line, rest, whole = bytes.Cut(g.text, []byte("\n")) {
			g.text = rest
			if done, err := g.obey(string(line)); done {
				return err
			}
		}
	}
}

// obey executes the order of a line, and returns whether the watchdog is done.
func (g *watchdogState) obey(line string) (done bool, err error) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case orderRun:
		var path, args, environment string
		if _, err = fmt.Sscanf(rest, "%d %q %q %q", &g.at, &path, &args, &environment); err == nil {
			return g.run(path, strings.Split(args, "\x00"), strings.Split(environment, "\x00"))
		}
	case orderWatch:
		if _, err = fmt.Sscan(rest, &g.at); err == nil {
			return false, nil
		}
	case orderKill:
		return true, g.kill(report{})
	default:
		err = errors.New("unknown order")
	}
	return true, errors.Join(fmt.Errorf("the watchdog got the order %.20q: %w", line, err), g.kill(report{}))
}

// run starts the command. If that fails, the watchdog is done.
func (g *watchdogState) run(path string, args, environment []string) (done bool, err error) {
	process, err := os.StartProcess(path, args, &os.ProcAttr{
		Env: environment, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: processGroup(),
	})
	if err != nil {
		return true, g.report(report{Problem: err.Error()})
	}
	g.tree.leader = process.Pid
	_ = process.Release()                    // the tree reaps it
	_ = g.report(report{PID: g.tree.leader}) // if nobody reads it, the orders end, too
	return false, nil
}

// wait waits for an order, the end of the orders, or the end of a child, at most for the timeout. It returns whether
// the orders are readable.
func (g *watchdogState) wait(timeout time.Duration) (orders bool, err error) {
	events := []unix.PollFd{{Fd: int32(g.orders.Fd()), Events: unix.POLLIN}, {Fd: int32(g.childEnded.Fd()), Events: unix.POLLIN}}
	_, err = unix.Poll(events, int((timeout+time.Millisecond-1)/time.Millisecond))
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if events[1].Revents != 0 {
		_, _ = g.childEnded.Read(make([]byte, 64)) // the next wait reports an error
	}
	return events[0].Revents != 0, err
}

// kill kills the command with all of its descendants, and reports the result. If processes are left and redlockctl is
// gone or held up, kill returns an error that says so.
func (g *watchdogState) kill(r report) error {
	if g.tree.leader == 0 {
		return nil
	}
	err := g.tree.kill()
	r.Final, r.Ended, r.Status = true, g.tree.ended, g.tree.status
	if err != nil {
		r.Problem = err.Error()
	}
	if g.report(r) == nil && !r.Late || err == nil {
		return nil
	}
	return exit{lostLease, fmt.Errorf("redlockctl is gone or held up, and %w", err)}
}

// report sends a report to redlockctl.
func (g *watchdogState) report(r report) error { return json.NewEncoder(g.reports).Encode(r) }
