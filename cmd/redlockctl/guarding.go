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

// lookEvery is how often the guard looks at its clock, at least: the system's own waiting does not count the time that
// the machine was suspended.
const lookEvery = 200 * time.Millisecond

// Orders to the guard, each a line.
const (
	orderRun   = "run"   // and the instant to kill at, the file, the arguments and the environment
	orderWatch = "watch" // and the instant
	orderKill  = "kill"
)

// guarded is the work of the guard.
type guarded struct {
	orders, reports *os.File
	childEnded      *os.File // has something to read when a child may have ended
	text            []byte   // of orders, from the start of a line
	at              time.Duration
	tree            tree
}

// guarding runs the command that it is ordered to, and kills it, with all of its descendants, at the instant that it was told
// last, or when the orders end. The code of its end says whether it was the instant.
func guarding(orders, reports *os.File) error {
	// The command is killed with the thread that has started it: this one has to live as long as the process.
	runtime.LockOSThread()
	g := &guarded{orders: orders, reports: reports}
	for _, own := range []*os.File{orders, reports} {
		unix.CloseOnExec(int(own.Fd()))
	}
	if !adoptOrphans() {
		return g.report(report{Problem: "orphans of the command cannot be told from other processes"})
	}
	wake, stop, err := wakeByChildren()
	if err != nil {
		return g.report(report{Problem: err.Error()})
	}
	defer stop()
	g.childEnded = wake
	return g.attend()
}

// wakeByChildren returns a pipe that has something to read when a child of this process has ended.
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
			_, _ = write.Write([]byte{0}) // it is read soon
		}
	}()
	return read, func() {
		signal.Stop(signals)
		close(signals)
		_ = read.Close() // nobody reads any more: the writer must not wait
		<-done
		_ = write.Close()
	}, nil
}

func (g *guarded) attend() error {
	for {
		if g.tree.reap(); g.tree.ended { // what it has left running may not go on
			return g.kill(report{})
		}
		wait := lookEvery
		if g.tree.leader > 1 {
			wait = max(min(wait, g.at-sinceBoot()), 0)
		}
		more, err := g.wait(wait)
		switch {
		case err != nil:
			return errors.Join(err, g.kill(report{}))
		case !more && g.tree.leader > 1 && sinceBoot() >= g.at:
			// All that it was told comes first: it may have been held up itself, and the lease extended.
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

// obey does what a line says, and returns whether that was the last.
func (g *guarded) obey(line string) (done bool, err error) {
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
		err = errors.New("no such order")
	}
	return true, errors.Join(fmt.Errorf("the guard was told %.20q: %w", line, err), g.kill(report{}))
}

// run starts the command. It is done if that fails.
func (g *guarded) run(path string, args, environment []string) (done bool, err error) {
	process, err := os.StartProcess(path, args, &os.ProcAttr{
		Env: environment, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: processGroup(),
	})
	if err != nil {
		return true, g.report(report{Problem: err.Error()})
	}
	g.tree.leader = process.Pid
	_ = process.Release()                    // the tree reaps it
	_ = g.report(report{PID: g.tree.leader}) // where nobody reads it, the orders end, too
	return false, nil
}

// wait waits so long for an order, the end of the orders, or the end of a child, and returns whether there is something to
// read of the orders.
func (g *guarded) wait(timeout time.Duration) (orders bool, err error) {
	events := []unix.PollFd{{Fd: int32(g.orders.Fd()), Events: unix.POLLIN}, {Fd: int32(g.childEnded.Fd()), Events: unix.POLLIN}}
	_, err = unix.Poll(events, int((timeout+time.Millisecond-1)/time.Millisecond))
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if events[1].Revents != 0 {
		_, _ = g.childEnded.Read(make([]byte, 64)) // the next wait finds what fails
	}
	return events[0].Revents != 0, err
}

// kill ends the command with all of its descendants, and reports that. It returns what is left where redlockctl does not say
// so: it is gone, or held up.
func (g *guarded) kill(r report) error {
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

// report tells redlockctl.
func (g *guarded) report(r report) error { return json.NewEncoder(g.reports).Encode(r) }
