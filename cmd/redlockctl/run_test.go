package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// unhurried returns arguments of run for tests that must not lose the lock. On a busy machine a lease of 2 s may
// expire, and one attempt may find no quorum.
func unhurried(t *testing.T, command ...string) []string {
	return append([]string{"run", "--name", t.Name(), "--ttl", longTTL, "--wait", "1m", "--"}, command...)
}

func TestRun_ExitsAsTheCommandDoes(t *testing.T) {
	c := shared(t)
	sh := func(script string) result { return on(c)(unhurried(t, "sh", "-c", script)...) }
	sh("exit 0").want(t, 0, "", "")
	sh("exit 42").want(t, 42, "", "")
	sh("kill -9 $$").want(t, 128+9, "", "")
	first, second := sh("echo $REDLOCK_TOKEN $REDLOCK_NAME"), sh("echo $REDLOCK_TOKEN")
	a, errA := strconv.ParseUint(strings.Fields(first.out)[0], 10, 64)
	b, errB := strconv.ParseUint(strings.TrimSpace(second.out), 10, 64)
	if errA != nil || errB != nil || b <= a || !strings.HasSuffix(first.out, " "+t.Name()+"\n") {
		t.Errorf("tokens %q and %q", first.out, second.out)
	}
}

// The holder extends its lease until it ends.
func TestRun_OneAtATime(t *testing.T) {
	c := shared(t)
	holder, out := process(t, c, unhurried(t, "sh", "-c", "echo up; sleep 1000")...)
	until(t, "it is up", func() bool { return strings.Contains(out.String(), "up") })
	free := freeAt(t, c, t.Name())
	for _, wait := range []string{"0", "300ms"} {
		until(t, "it is told that the lock is held", func() bool { // on a busy machine too few nodes may answer in time
			r := on(c)("run", "--name", t.Name(), "--wait", wait, "--", "echo", "beside it")
			r.want(t, noLease, "", "redlockctl: ")
			return t.Failed() || r.out != "" || strings.Contains(r.err, "held")
		})
	}
	waiter, mine := process(t, c, unhurried(t, "echo", "mine")...)
	until(t, "the lease it began with is over", func() bool { return time.Now().After(free) })
	if err := holder.Process.Signal(syscall.SIGTERM); err != nil { // passed on to sh and sleep
		t.Fatal(err)
	}
	if err := holder.Wait(); holder.ProcessState.ExitCode() != 128+15 {
		t.Errorf("the holder ended with %v: %s", err, out)
	}
	if err := waiter.Wait(); err != nil || mine.String() != "mine\n" {
		t.Errorf("the waiter ended with %v: %s", err, mine)
	}
}

func TestRun_PassesSignalsOn(t *testing.T) {
	p, out := process(t, shared(t), unhurried(t, "sh", "-c",
		`trap 'echo usr1' USR1; trap 'echo term; exit 7' TERM; echo up; while :; do sleep 0.05; done`)...)
	until(t, "it is up", func() bool { return strings.Contains(out.String(), "up") })
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM} {
		want.NoError(t, p.Process.Signal(s))
		if s == syscall.SIGUSR1 {
			until(t, "it has the signal", func() bool { return strings.Contains(out.String(), "usr1") })
		}
	}
	if err := p.Wait(); p.ProcessState.ExitCode() != 7 || !strings.Contains(out.String(), "term") {
		t.Errorf("it ended with %v: %s", err, out)
	}
}

// pidFile returns a file for pids. At the end of the test it kills the processes in it that are left.
func pidFile(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "pids")
	t.Cleanup(func() {
		text, _ := os.ReadFile(file) // no file: nothing was started
		for pid := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(pid); err == nil && alive(t, file) {
				_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
			}
		}
	})
	return file
}

// alive reports whether a process in a file of pids still runs; a zombie does not.
func alive(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for pid := range strings.FieldsSeq(string(text)) {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err == nil && !strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z ") { // after the name, which may contain " Z " too
			return true
		}
	}
	return false
}

// A majority of nodes is gone, so the lease cannot be extended. The command and its descendants must end before the
// lease, even if they ignore SIGTERM.
func TestRun_StopsTheCommandBeforeTheLeaseEnds(t *testing.T) {
	for name, script := range map[string]string{
		"that stops": `echo $$ > %[1]s; trap 'echo stopping; exit 0' TERM; while :; do date +%%s%%N >> %[2]s; sleep 0.01; done`,
		"that ignores it": `trap '' TERM; sh -c 'echo $$ >> %[1]s; while :; do sleep 0.01; done' & echo $$ >> %[1]s; ` +
			`while :; do date +%%s%%N >> %[2]s; sleep 0.01; done`,
	} {
		t.Run(name, func(t *testing.T) {
			c := ready(t, servers(t))
			pids, beats := pidFile(t), filepath.Join(t.TempDir(), "beats")
			p, out := process(t, c, "run", "--name", "x", "--", "sh", "-c", fmt.Sprintf(script, pids, beats))
			until(t, "it is at work", func() bool { return alive(t, pids) })
			var cut time.Time
			for i := range 2 {
				cut = time.Now()
				want.NoError(t, c.Node(i).Kill())
			}
			err := p.Wait()
			if p.ProcessState.ExitCode() != lostLease || !strings.Contains(out.String(), "could not be extended") {
				t.Errorf("it ended with %v: %s", err, out)
			}
			if alive(t, pids) {
				t.Error("the command, or what it has started, is left")
			}
			// The latest extension came before the second node was gone.
			if after := lastBeat(t, beats).Sub(cut); after > ttl {
				t.Errorf("it was at work %v after the last possible extension of a lease of %v", after, ttl)
			}
		})
	}
}
