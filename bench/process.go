package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlockfx/redlockfx/election"
)

// leaderVariable makes this program a process that leads when it holds a leaders, as JSON.
const leaderVariable = "REDLOCKFX_BENCH_LEADERS"

// leaders is what a process of its own campaigns in, until its standard input ends.
type leaders struct {
	Nodes     []string
	Elections []lasting
}

// lasting is an election and the TTL of its lease.
type lasting struct {
	Name string
	TTL  time.Duration
}

// told is what such a process tells of a callback: that it has started, or that its context is done.
type told struct {
	Name string
	Over bool
	At   time.Duration // by machineTime
}

// machineTime is one that all processes share.
func machineTime() (time.Duration, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return time.Duration(now.Nano()), err
}

// beLeaders runs in the process of its own.
func beLeaders(variable string) (err error) {
	var l leaders
	if err := json.Unmarshal([]byte(variable), &l); err != nil {
		return err
	}
	ctx := context.Background()
	p, err := openOurs(clientsOf(l.Nodes))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close(ctx)) }()
	for _, e := range l.Elections {
		run, problem := candidate{p}.campaign(ctx, e.Name, func(ctx context.Context) {
			tell(e.Name, false)
			<-ctx.Done()
			tell(e.Name, true)
		}, election.WithTTL(e.TTL))
		if problem != nil {
			return problem
		}
		defer func() { err = errors.Join(err, run.Release(ctx)) }()
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// tell writes a line: one write, so that those of several goroutines do not mix.
func tell(name string, over bool) {
	at, err := machineTime()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(told{name, over, at})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // nobody listens any more
	}
}

// process is such a process as this one sees it.
type process struct {
	cmd     *exec.Cmd
	input   io.Closer
	stderr  bytes.Buffer // to be read when it has ended
	news    chan told    // closed when it has ended
	problem error        // of what it told, set by then
}

// startLeaders starts one, until its kill or the end of ctx.
func startLeaders(ctx context.Context, l leaders) (*process, error) {
	variable, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self), news: make(chan told)}
	p.cmd.Env = append(os.Environ(), leaderVariable+"="+string(variable))
	p.cmd.Stderr = &p.stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process, which kill waits for
		defer close(p.news)
		lines := json.NewDecoder(output)
		for {
			var t told
			if p.problem = lines.Decode(&t); p.problem != nil {
				return
			}
			p.news <- t
		}
	}()
	return p, nil
}

// next is what the process tells next.
func (p *process) next(ctx context.Context) (told, error) {
	select {
	case t, open := <-p.news:
		if !open {
			return t, fmt.Errorf("a process that leads has ended: %w: %s", p.problem, &p.stderr)
		}
		return t, nil
	case <-ctx.Done():
		return told{}, context.Cause(ctx)
	}
}

// kill ends it, a stopped one too.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended already
	for range p.news {
		continue // nobody is interested any more
	}
	_ = p.input.Close()
	_ = p.cmd.Wait() // it was killed
}
