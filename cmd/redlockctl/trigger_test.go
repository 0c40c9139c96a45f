package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// outcomes returns a job for each outcome.
func outcomes() []scheduler.Job {
	sleep := func(ctx context.Context, d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	return []scheduler.Job{
		{Name: "bad", Spec: "@yearly", Run: func(ctx context.Context, _ scheduler.Run) error {
			sleep(ctx, 300*time.Millisecond)
			return errors.New("no paper")
		}},
		{Name: "slow", Spec: "@yearly", Run: func(ctx context.Context, _ scheduler.Run) error {
			sleep(ctx, time.Hour)
			return nil
		}},
	}
}

func TestTrigger_WaitsForTheOutcomeOfItsRun(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	leader, _ := service(t, c, "pod-1", outcomes()...)
	until(t, "it leads", leader.IsLeader)
	until(t, "the nodes know the jobs", func() bool { return strings.Contains(do("jobs").out, "slow") })

	do("trigger", "nightly report", "--wait", "1m").want(t, 0, "nightly report is ok: it ran for ", "")
	do("trigger", "bad", "--wait", "1m").want(t, failed, "bad failed after 3", "")
	r := do("trigger", "bad", "--wait", "1m", "-o", "json")
	if r.code != failed || !strings.Contains(r.out, `"error": "no paper"`) {
		t.Errorf("%+v", r)
	}
	do("trigger", "slow", "--wait", "1s").want(t, unfinished, "", `the triggered run of "slow" has not ended: it runs on "pod-1"`)
	do("trigger", "slow", "--wait", "1m").want(t, no, "slow did not run: skipped: a run was under way", "")
	do("trigger", "slwo", "--wait", "1m").want(t, no, "", `unknown job: "slwo": did you mean "slow"?`)

	do("jobs").want(t, 0, "running for ", "")
	if out := do("jobs").out; !strings.Contains(out, "no paper") || !strings.Contains(out, in("NEXT")) {
		t.Errorf("the jobs are\n%s", out)
	}
	do("history", "slow").want(t, 0, "s so far", "")
}

func TestTrigger_WaitIsInterrupted(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	leader, _ := service(t, c, "pod-1", outcomes()...)
	until(t, "it leads", leader.IsLeader)
	until(t, "the nodes know the jobs", func() bool { return strings.Contains(do("jobs").out, "slow") })
	waits, out := process(t, c, "trigger", "slow", "--wait", "1h")
	until(t, "it runs", func() bool { return strings.Contains(do("jobs").out, "running for ") })
	if err := waits.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = waits.Wait()
	if code := waits.ProcessState.ExitCode(); code != unfinished || !strings.Contains(out.String(), "has not ended") ||
		strings.Count(out.String(), "\n") != 1 {
		t.Errorf("it exited with %d: %s", code, out)
	}
}

func TestPause_HasAReason(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	leader, _ := service(t, c, "pod-1")
	until(t, "it leads", leader.IsLeader)
	until(t, "the nodes know the jobs", func() bool { return strings.Contains(do("jobs").out, "nightly report") })
	do("pause", "nightly report", "--as", "ann", "--reason", "moving the ledger").want(t, 0, "is paused", "")
	do("jobs").want(t, 0, "paused by ann: moving the ledger", "")
	do("history", "nightly report").want(t, 0, "pause  ann  moving the ledger  redlockctl by ", "")
	list := decode[[]job](t, do("jobs", "-o", "json"))
	if p := list[1].Pause; p == nil || p.By != "ann" || p.Reason != "moving the ledger" {
		t.Errorf("%+v", p)
	}
	do("pause", "nightly report", "--reason", "a\x1bb").want(t, misused, "", "reason")
}

func TestElection_ThatNobodyHasLedIsAnError(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	leader, stop := service(t, c, "pod-1")
	until(t, "it leads", leader.IsLeader)
	until(t, "the nodes know its term", func() bool { return strings.Contains(do("jobs").out, "nightly report") })
	for _, command := range []string{"jobs", "leader"} {
		do(command, "-e", "billling").want(t, no, "",
			`nobody has ever led an election "billling" under the prefix "redlock": did you mean "billing"?`)
		do(command, "-e", "reports").want(t, no, "", `the nodes know ["billing"]`)
		do(command, "--prefix", "other").want(t, no, "", `or nothing has been locked under the prefix "other"`)
	}
	stop()
	until(t, "it has stopped", func() bool { return do("leader").code == no })
	do("leader").want(t, no, "", `no leader of "billing": the last was "pod-1", from `)
	do("jobs").want(t, 0, "nightly report", "")
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
	leader, _ := service(t, c, "pod-1")
	until(t, "it leads", leader.IsLeader)
	until(t, "it is paused", func() bool { return do("pause", "nightly report").code == 0 })
	forget(t, c)
	until(t, "the loss is shown", func() bool {
		return strings.Contains(do("jobs").out, "a majority of nodes lost its state at 2")
	})
	if out := do("jobs", "-o", "json").out; !strings.Contains(out, `"lost": "2`) {
		t.Errorf("the JSON has no loss: %s", out)
	}
}
