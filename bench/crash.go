package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

const (
	crashes    = 10 // processes that are killed
	crashLeads = 15 // elections that each of them leads
	crashTTL   = 2 * time.Second
	crashStep  = 40 * time.Millisecond  // difference between two TTLs, so that leases do not end together
	crashApart = 700 * time.Millisecond // from one kill to the next
)

// leadersVariable is the environment variable that makes this program a process that leads. Its value is the addresses
// of the nodes, then the names of the elections.
const leadersVariable = "REDLOCKFX_BENCH_LEADERS"

// crash measures leaders whose process is killed, each with one follower: the time from the end of the lease until the
// follower's callback starts.
func (b *bench) crash(ctx context.Context) {
	heir := candidate(b.lockers(ctx, 1)[0])
	names := nextNames(crashes * crashLeads)
	var doomed []*exec.Cmd
	for own := range slices.Chunk(names, crashLeads) {
		process := startLeaders(ctx, b.cluster.Addrs(), own)
		defer kill(process)
		doomed = append(doomed, process)
	}
	won := make([]time.Time, len(names))
	runs := make([]hold, len(names))
	over := inBackground(len(names), func(i int) (err error) {
		runs[i], err = heir.wait(ctx, names[i])
		won[i] = time.Now()
		return err
	})
	for _, name := range names {
		check(b.waiting(ctx, elections+name, 1))
	}
	free := make([]time.Time, len(names)) // when each lease is over
	for n, process := range doomed {
		time.Sleep(crashApart)
		kill(process)
		for i := n * crashLeads; i < (n+1)*crashLeads; i++ {
			free[i] = b.freeAt(ctx, elections+names[i])
		}
	}
	check(<-over)
	took := make([]time.Duration, len(names))
	for i, run := range runs {
		took[i] = won[i].Sub(free[i])
		check(run.Release(ctx))
	}
	b.report.latency("lease over to next leader", took, nil, "")
}

// startLeaders starts a process, and returns when it leads in all elections.
func startLeaders(ctx context.Context, addrs, names []string) *exec.Cmd {
	process := exec.CommandContext(ctx, must(os.Executable()))
	process.Env = append(os.Environ(), leadersVariable+"="+strings.Join(slices.Concat(addrs, names), " "))
	process.Stderr = os.Stderr
	must(process.StdinPipe()) // the process ends when its input does
	lines := bufio.NewScanner(must(process.StdoutPipe()))
	check(process.Start())
	for range names {
		if !lines.Scan() {
			kill(process)
			check(errors.Join(errors.New("a process that leads has ended"), lines.Err(), context.Cause(ctx)))
		}
	}
	return process
}

// kill kills the process and waits for its end. It may be called again.
func kill(process *exec.Cmd) {
	_ = process.Process.Kill()
	_ = process.Wait()
}

// beLeaders runs in the other process: it leads until its standard input ends, and prints a line for each term.
func beLeaders(ctx context.Context, variable string) {
	fields := strings.Fields(variable)
	p := openLocker(fields[:nodes])
	for i, name := range fields[nodes:] {
		campaign(ctx, must(election.New(p.locker, name, election.WithTTL(crashTTL+time.Duration(i)*crashStep),
			election.OnLeader(func(ctx context.Context) {
				fmt.Println(name)
				<-ctx.Done()
			}))))
	}
	must(io.Copy(io.Discard, os.Stdin))
}
