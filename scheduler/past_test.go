package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/accept"
	"github.com/redlockfx/redlockfx/scheduler"
)

// oneDeadOneWiped kills one node and wipes another one, so that one node still has its state. The leader loses its lease by
// that. It leads again when the guard of the wiped node is over.
func (c *cluster) oneDeadOneWiped(leader *replica) {
	c.Wipe(1)
	accept.IfNeeded(c.T, leader.elector.Locker()) // only asks, so that the node is replaced in the list, for which all must be heard
	time.Sleep(100 * time.Millisecond)
	c.Kill(0)
}

// accounted returns how many ticks up to now ran, and how many were missed.
func (r *replica) accounted(job string) (ran, missed int) {
	for _, rec := range r.c.records() {
		if rec.Job == job && !rec.Manual {
			ran++
		}
	}
	return ran, r.status(job).Missed
}

// The node that lost its state stores no tick that it may have stored before, and the dead node stores none at all.
func TestPast_TicksThatCannotBeWonDoNotHoldUpTheOthers(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		job := a.job("job", "*/10 * * * * *", quick)
		job.CatchUp = scheduler.CatchUpAll(time.Hour)
		a.add(job)
		c.SleepTo(25 * time.Second)
		c.oneDeadOneWiped(a)
		c.SleepTo(time.Minute + 5*time.Second)
		runs := c.records()
		if last := runs[len(runs)-1]; c.at(last.Tick) != "1m0s" || c.at(last.start) != "1m0s" {
			t.Errorf("ran %v", c.ran())
		}
		if ran, missed := a.accounted("job"); ran+missed != 6 {
			t.Errorf("%d ran, %d were missed, of 6", ran, missed)
		}
	})
}

// One node has stored the start of a run, the leader dies, and another node does not answer: nobody can tell whether the run
// began.
func TestPast_ATickThatMayHaveStartedIsLost(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "*/10 * * * * *", quick, catchUpAll, queued)
		c.SleepTo(19500 * time.Millisecond)
		a.links.Cut(1, 2) // only the first node gets the write of the tick
		c.SleepTo(31 * time.Second)
		a.links.Cut()
		b.links.Cut(1)
		b.takesOver()
		c.SleepTo(59 * time.Second)
		var ran []string
		for _, run := range c.records() {
			ran = append(ran, c.at(run.Tick))
		}
		wantEqual(t, "ran", ran, []string{"10s", "30s", "40s", "50s"})
		if got := b.states("job")["20s"]; got != scheduler.StateLost {
			t.Errorf("recorded %q", got)
		}
	})
}

// The nodes have stored the start of a tick, but the answers were lost, and so was the term. The same process leads next.
func TestPast_AnOpenedTickIsLostWithItsTerm(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "12,25 * * * * *", quick))
		c.SleepTo(24900 * time.Millisecond)
		a.links.DropReplies()
		c.SleepTo(40 * time.Second)
		a.links.Heal()
		c.SleepTo(70 * time.Second)
		if got := a.states("job")["25s"]; got != scheduler.StateLost {
			t.Errorf("recorded as %q, ran %v", got, c.ran())
		}
	})
}

// isAbout reports whether a command is a write of a job.
func isAbout(job, command string, args []string) bool {
	return command == "EVALSHA" && slices.Contains(args, "{redlock}:runs:x:"+job)
}

const noMemory = "OOM command not allowed when used memory > 'maxmemory'."

// takenOverWithASlowNode returns the second leader of a job of every 20 s. The first one was cut off from two nodes before the
// first tick, and one of these does not answer the second one yet.
func takenOverWithASlowNode(c *cluster) (b *replica) {
	a, b := c.leader("a"), c.idle("b")
	addBoth(a, b, "*/20 * * * * *", quick)
	c.SleepTo(19500 * time.Millisecond)
	a.links.Cut(1, 2)
	c.SleepTo(31 * time.Second)
	a.links.Cut()
	b.links.Hang(2)
	b.takesOver()
	time.Sleep(500 * time.Millisecond)
	return b
}

// The node that shows that the run did not begin does not answer at first.
func TestPast_ATickThatCannotHaveStartedIsRunAlsoWithASlowNode(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		b := takenOverWithASlowNode(c)
		b.links.Heal()
		c.SleepTo(39 * time.Second)
		runs := c.records()
		if len(runs) != 1 || c.at(runs[0].Tick) != "20s" || runs[0].Attempt != 1 {
			t.Errorf("ran %v, recorded %v", c.ran(), b.states("job"))
		}
	})
}
