package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// outcomes returns a job for each outcome.
func outcomes(t *testing.T) []scheduler.Job {
	long := func(context.Context, scheduler.Run) error {
		<-t.Context().Done() // before the service stops, which would wait for it
		return nil
	}
	return []scheduler.Job{
		{Name: "bad", Spec: "@yearly", Run: func(context.Context, scheduler.Run) error {
			time.Sleep(300 * time.Millisecond)
			return errors.New("no paper")
		}},
		{Name: "slow", Spec: "@yearly", Run: long},
		{Name: "slower", Spec: "@yearly", Run: long},
	}
}

func TestTrigger_WaitsForTheOutcomeOfItsRun(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	led(t, c, outcomes(t)...)

	do("trigger", "nightly report", "--wait", "1m").want(t, 0, "nightly report is ok: it ran for ", "")
	do("trigger", "bad", "--wait", "1m").want(t, failed, "bad failed after 3", "")
	r := do("trigger", "bad", "--wait", "1m", "-o", "json")
	if r.code != failed || !strings.Contains(r.out, `"error": "no paper"`) {
		t.Errorf("%+v", r)
	}
	waits, out := process(t, c, "trigger", "slower", "--wait", "1h")
	until(t, "it runs", func() bool { return strings.Contains(do("jobs").out, "running for 1s") })
	want.NoError(t, waits.Process.Signal(os.Interrupt))
	_ = waits.Wait()
	if code := waits.ProcessState.ExitCode(); code != unfinished || !strings.Contains(out.String(), "has not ended") ||
		strings.Count(out.String(), "\n") != 1 {
		t.Errorf("it exited with %d: %s", code, out)
	}
	// It gives up after both.
	do("trigger", "slow", "--wait", "10ms", "--timeout", "2s").want(t, unfinished, "",
		`the triggered run of "slow" has not ended: it runs on "pod-1"`)
	do("trigger", "slow", "--wait", "1m").want(t, no, "slow did not run: skipped: a run was under way", "")
	do("trigger", "slwo", "--wait", "1m").want(t, no, "", `unknown job: "slwo": did you mean "slow"?`)

	do("jobs").want(t, 0, "running for ", "")
	if out := do("jobs").out; !strings.Contains(out, "no paper") || !strings.Contains(out, in("NEXT")) {
		t.Errorf("the jobs are\n%s", out)
	}
	do("history", "slow").want(t, 0, "s so far", "")
}

func TestLeader_SaysThatTheNodesGrantNothingYet(t *testing.T) {
	c := servers(t)
	do := on(c)
	call(append([]string{"-n", strings.Join(c.Addrs(), ","), "--ttl", "1h", "run", "--name", "x", "--"}, "true")...) // starts the guard
	do("leader").want(t, no, "", "of 3 nodes grant nothing for another")
}

// A pause is lost with the nodes' data. The table says so, because somebody must pause the job again.
func TestJobs_SaysThatTheNodesLostThem(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	led(t, c)
	do("pause", "nightly report").want(t, 0, "is paused", "")
	for i := range c.Addrs() { // they lose their data
		want.NoError(t, errors.Join(c.Node(i).Kill(), c.Node(i).Restart(t.Context())))
	}
	until(t, "the loss is shown", func() bool {
		return strings.Contains(do("jobs").out, "a majority of nodes lost its state at 2")
	})
	if out := do("jobs", "-o", "json").out; !strings.Contains(out, `"lost": "2`) {
		t.Errorf("the JSON has no loss: %s", out)
	}
}
