//go:build unix

package integration_test

import (
	"syscall"
	"testing"

	"github.com/redlockfx/redlockfx/integration"
)

func TestTerminatedLeader_FinishesItsWorkAndHandsOverAtOnce(t *testing.T) {
	t.Parallel()
	c := start(t, startNodes(t, nodeCount), steady())
	leader := c.leader()
	run := c.await("run", func(e integration.Event) bool {
		return e.Kind == integration.RunBegin && e.At > leader.At
	})

	c.replicas[leader.Replica].signal(syscall.SIGTERM)
	next := c.next(run.At)
	ran := c.await("end of the run", func(e integration.Event) bool {
		return e.Kind == integration.RunEnd && e.Tick.Equal(run.Tick)
	})
	ended := c.await("end of the callback", func(e integration.Event) bool {
		return e.Kind == integration.LeadEnd && e.Token == leader.Token
	})
	exit := c.await("exit", func(e integration.Event) bool { return e.Kind == integration.Exit })

	took := next.Since - max(ran.At, ended.At)
	t.Logf("the next leader began %v after the work had returned", took)
	if took > ttl/2 {
		t.Errorf("it took %v, want at most %v", took, ttl/2)
	}
	if ran.Text != "" {
		t.Errorf("the run under way was cut off: %s", ran.Text)
	}
	if exit.Replica != leader.Replica || exit.Text != "" {
		t.Errorf("exit of %s with %q, want that of %s", exit.Replica, exit.Text, leader.Replica)
	}
	if next.Since > ended.Deadline {
		t.Errorf("the lease was not released: the next leader began %v after the stop deadline",
			next.Since-ended.Deadline)
	}
	c.stays(next, next.At, 2*tickEvery)
}

// The test stops the process just after a run has returned. The next tick is then 700 ms away, so the stop cannot fall
// between the check of the term and the start of a run.
//
// A callback that is added when the process wakes must wait for the process's next term. That term starts when the
// other replicas are gone.
func TestStoppedLeader_KnowsWhenItWakesThatItLeadsNoMore(t *testing.T) {
	t.Parallel()
	c := start(t, startNodes(t, nodeCount), steady())
	leader := c.leader()
	old := c.replicas[leader.Replica]

	old.signal(syscall.SIGUSR1)
	c.await("watch", func(e integration.Event) bool { return e.Kind == integration.Watch })
	stopped := old.signal(syscall.SIGSTOP)
	next := c.next(stopped)
	c.stays(next, next.At, 2*tickEvery)
	waking := old.signal(syscall.SIGCONT)
	belief := c.await("look after waking", func(e integration.Event) bool { return e.Kind == woken })
	over := c.lost(leader)

	t.Logf("the next leader began %v after the stop; the old one's context ended %v after it woke",
		next.Since-stopped, over.At-waking)
	if took := next.Since - stopped; took > ttl+busy {
		t.Errorf("the next leader began after %v, want at most %v", took, ttl+busy)
	}
	if belief.Valid || belief.At < waking {
		t.Errorf("when it woke it believed that it leads: %+v", belief)
	}
	if took := over.At - waking; took < 0 || took > busy {
		t.Errorf("the old leader's context ended %v after it woke, want at most %v", took, busy)
	}
	c.stays(next, over.At, 2*tickEvery)

	for _, p := range c.replicas {
		if p != old {
			p.signal(syscall.SIGTERM)
		}
	}
	given := c.await("start of the late callback", func(e integration.Event) bool {
		return e.Kind == late
	})
	if given.Since < over.At {
		t.Errorf("a callback that was registered after the term started in it: %+v", given)
	}
	events, _ := c.reported(0)
	starts := 0
	for _, e := range events {
		if e.Kind == integration.LeadBegin && e.Since == leader.Since {
			starts++
		}
	}
	if starts != 1 {
		t.Errorf("the callback started %d times in the term that was lost, want once", starts)
	}
}
