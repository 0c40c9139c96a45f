package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// waiterVariable is the environment variable that makes this program a process that waits for locks. Its value is the
// addresses of the nodes.
const waiterVariable = "REDLOCKFX_BENCH_WAITER"

// These lines are the protocol of a waiter. It reads the name of a lock. If it wins the lock, it answers wonLine with
// the time. When it reads stopLine, it releases the lock or stops waiting, and answers doneLine. It also answers
// doneLine once at the start, when it has its connections.
const (
	stopLine = "stop"
	wonLine  = "won"
	doneLine = "done"
)

// waiters are processes that wait for one lock at a time.
type waiters []*waiter

type waiter struct {
	process *exec.Cmd
	input   io.Writer
	done    chan error // holds one answer: the result of doneLine, or why there is none
}

// start starts one more process, and returns when it has its connections. It sends the time of each win to won.
func (all *waiters) start(ctx context.Context, addrs []string, won chan<- time.Time) {
	w := &waiter{process: exec.CommandContext(ctx, must(os.Executable())), done: make(chan error, 1)}
	w.process.Env = append(os.Environ(), waiterVariable+"="+strings.Join(addrs, " "))
	w.process.Stderr = os.Stderr
	w.input = must(w.process.StdinPipe())
	lines := bufio.NewScanner(must(w.process.StdoutPipe()))
	check(w.process.Start())
	*all = append(*all, w)
	go w.read(lines, won) // ends with the process
	check(must(receive(ctx, w.done)))
}

func (w *waiter) read(lines *bufio.Scanner, won chan<- time.Time) {
	for lines.Scan() {
		word, at, _ := strings.Cut(lines.Text(), " ")
		if word == doneLine {
			w.done <- nil
			continue
		}
		nanos, err := strconv.ParseInt(at, 10, 64)
		if word != wonLine || err != nil {
			w.done <- fmt.Errorf("a process that waits says %q", lines.Text())
			return
		}
		won <- time.Unix(0, nanos)
	}
	w.done <- errors.Join(errors.New("a process that waits has ended"), lines.Err())
}

// send sends a line to all.
func (all waiters) send(line string) error {
	return each(len(all), 1, func(i int) error {
		_, err := fmt.Fprintln(all[i].input, line)
		return err
	})
}

// areDone waits until all have answered doneLine.
func (all waiters) areDone(ctx context.Context) error {
	return each(len(all), 1, func(i int) error {
		answered, err := receive(ctx, all[i].done)
		return errors.Join(err, answered)
	})
}

func (all waiters) kill() {
	for _, w := range all {
		kill(w.process)
	}
}

// handOver makes holder hold a lock and all wait for it, until areWaiting returns. It returns the time from just before
// the release is called until the first waiter has the lock.
func (all waiters) handOver(
	ctx context.Context, holder peer, name string, won chan time.Time, areWaiting func(context.Context, string, int) error,
) (time.Duration, error) {
	h, err := holder.try(ctx, name)
	if err != nil {
		return 0, err
	}
	if err := all.send(name); err != nil {
		return 0, err
	}
	if err := errors.Join(areWaiting(ctx, name, len(all)), pause(10, 30)(name)); err != nil {
		return 0, err
	}
	released := time.Now()
	if err := h.Release(ctx); err != nil {
		return 0, err
	}
	first, err := receive(ctx, won)
	if err := errors.Join(err, all.send(stopLine), all.areDone(ctx)); err != nil {
		return 0, err
	}
	for len(won) > 0 {
		<-won // from others that won before they were stopped
	}
	return first.Sub(released.Round(0)), nil // Round(0): by the wall clock, which processes share
}

// beWaiter runs in the other process, until its standard input ends.
func beWaiter(ctx context.Context, variable string) {
	locker, bare := openLocker(strings.Fields(variable)), openBare(strings.Fields(variable))
	check(errors.Join(warmUp(ctx, locker, 2*nodes, waiterName), warmUp(ctx, bare, 2, waiterName)))
	fmt.Println(doneLine)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		waiting, stop := context.WithCancel(ctx)
		name, p := lines.Text(), locker
		if strings.HasPrefix(name, barePrefix) {
			p = bare
		}
		over := inBackground(1, func(int) error {
			h, err := p.wait(waiting, name)
			if err != nil {
				return nil // it was stopped; without a win, the parent times out
			}
			fmt.Println(wonLine, time.Now().UnixNano())
			<-waiting.Done()
			return h.Release(ctx)
		})
		stopped := lines.Scan()
		stop()
		err := <-over
		if !stopped || err != nil {
			check(err)
			return
		}
		fmt.Println(doneLine)
	}
}

// waiterName returns a name that no other process uses.
func waiterName() string { return fmt.Sprintf("%s-of-%d", nextName(), os.Getpid()) }
