//go:build unix

package integration_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/scheduler"
)

// What somebody asks for takes effect although the leader is killed at the same time.
func TestVerbs_OutliveALeaderThatIsKilled(t *testing.T) {
	t.Parallel()
	c := start(t, startNodes(t, nodeCount), steady())
	ran := c.leader()
	viewer := c.observe()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()

	poll(t, "end of the run on the nodes", func() bool {
		status, err := viewer.Status(ctx, jobName)
		return err == nil && !status.LastOK.Tick.Before(ran.Tick)
	})
	c.replicas[ran.Replica].signal(syscall.SIGKILL)
	again, err := viewer.RerunAndWait(ctx, jobName, ran.Tick, scheduler.By("ann"))
	must(t, err)
	if again.State != scheduler.StateOK || !again.Rerun || !again.Tick.Equal(ran.Tick) || again.Replica == ran.Replica {
		t.Errorf("it ran again as %+v", again)
	}
	events, _ := c.reported(0)
	runs, _, _ := runsOf(events)
	if runs[ran.Tick] != 2 {
		t.Errorf("the tick has run %d times", runs[ran.Tick])
	}

	now := time.Now().Truncate(time.Second)
	until := now.Add(ttl + 4*time.Second)
	must(t, viewer.PauseAll(ctx, scheduler.Until(until), scheduler.Because("the database moves")))
	c.replicas[again.Replica].signal(syscall.SIGKILL)
	c.await("tick after the pause", func(e integration.Event) bool {
		return e.Kind == integration.RunBegin && !e.Tick.Before(until)
	})
	events, _ = c.reported(0)
	for _, e := range events {
		if e.Kind == integration.RunBegin && e.Tick.After(now.Add(2*time.Second)) && e.Tick.Before(until) {
			t.Errorf("the tick %s has run in a pause until %s", e.Tick, until)
		}
	}
}

// A run is canceled by a process that does not have the job.
func TestCancel_EndsARunElsewhere(t *testing.T) {
	t.Parallel()
	s := steady()
	s.RunFor = time.Hour
	c := start(t, startNodes(t, 1), s)
	run := c.await("run", func(e integration.Event) bool { return e.Kind == integration.RunBegin })
	viewer := c.observe()
	poll(t, "the cancel", func() bool { return viewer.Cancel(t.Context(), jobName) == nil })
	end := c.await("end of the run", func(e integration.Event) bool { return e.Kind == integration.RunEnd && e.Tick.Equal(run.Tick) })
	if !strings.HasPrefix(end.Text, "scheduler: canceled by somebody on ") {
		t.Errorf("its context ended because of %q", end.Text)
	}
}
