package scheduler_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/scheduler"
)

// oneDeadOneWiped kills one node and wipes another one, so that one node still has its state. The leader loses its lease by
// that. It leads again when the guard of the wiped node is over.
func (c *cluster) oneDeadOneWiped() {
	c.Kill(0)
	c.Wipe(1)
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
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		job := a.job("job", "*/10 * * * * *", quick)
		job.CatchUp = scheduler.CatchUpAll(time.Hour)
		a.add(job)
		c.SleepTo(25 * time.Second)
		c.oneDeadOneWiped()
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

// Nobody leads at the tick. A node that lost its state before the tick stores it, because it cannot have stored it earlier.
func TestPast_ATickAfterALossOfStateIsRun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		job := a.job("job", "30 * * * * *", quick)
		job.CatchUp = scheduler.CatchUpAll(time.Hour)
		a.add(job)
		c.SleepTo(25 * time.Second)
		a.links.Cut(0)
		c.Wipe(1) // nobody leads at the tick, and nobody can store anything
		c.SleepTo(70 * time.Second)
		if ran, missed := a.accounted("job"); ran != 1 || missed != 0 {
			t.Errorf("%d ran, %d were missed: %v", ran, missed, c.ran())
		}
	})
}

// One node has stored the start of a run, the leader dies, and another node does not answer: nobody can tell whether the run
// began.
func TestPast_ATickThatMayHaveStartedIsLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			job := r.job("job", "*/10 * * * * *", quick)
			job.CatchUp, job.Overlap = scheduler.CatchUpAll(time.Hour), scheduler.Queue
			r.add(job)
		}
		c.SleepTo(19500 * time.Millisecond)
		a.links.Cut(1, 2) // only the first node gets the write of the tick
		c.SleepTo(31 * time.Second)
		a.links.Cut()
		b.links.Cut(1)
		b.campaign()
		b.leads()
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

// The same, but all nodes answer: a majority shows that the run did not begin.
func TestPast_ATickThatCannotHaveStartedIsRun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "*/20 * * * * *", quick))
		}
		c.SleepTo(19500 * time.Millisecond)
		a.links.Cut(1, 2)
		c.SleepTo(31 * time.Second)
		a.links.Cut()
		b.campaign()
		b.leads()
		c.SleepTo(39 * time.Second)
		runs := c.records()
		if len(runs) != 1 || c.at(runs[0].Tick) != "20s" || runs[0].Attempt != 1 {
			t.Errorf("ran %v", c.ran())
		}
	})
}

// Of three nodes one is dead and one has lost its state. Only the third one knows a run that an earlier leader began.
func TestPast_ARunThatOneNodeAloneKnowsIsTakenOver(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			job := r.job("job", "0 * * * * *", func(ctx context.Context, _ int) error {
				if r == a {
					<-ctx.Done()
				}
				return ctx.Err()
			})
			job.AtLeastOnce = true
			r.add(job)
		}
		c.SleepTo(62 * time.Second)
		a.links.Cut()
		c.oneDeadOneWiped()
		b.campaign()
		b.leads()
		c.SleepTo(130 * time.Second)
		runs := c.records()
		if len(runs) != 3 || c.at(runs[1].Tick) != "1m0s" || runs[1].Attempt != 2 || c.at(runs[2].Tick) != "2m0s" {
			t.Errorf("ran %v", c.ran())
		}
	})
}

// Of three nodes one is dead and one has lost its state: an earlier leader may have run the trigger, and nobody knows.
func TestPast_ATriggerThatOneNodeAloneKnowsIsMissed(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.idle("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "0 * * * * *", quick))
		}
		if err := b.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.oneDeadOneWiped()
		a.campaign()
		c.SleepTo(70 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 1m0s@1m0s"})
		if got := a.logged(zapcore.WarnLevel, "ticks missed"); len(got) != 1 {
			t.Errorf("logged %v", got)
		}
	})
}

// One node has stored ticks that no majority stored; they were missed, and newer ticks took their place.
func TestPast_AMissedTickIsNoLostRunToTheNextLeader(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			job := r.job("job", "* * * * * *", quick)
			job.AtLeastOnce = true
			r.add(job)
		}
		c.SleepTo(9500 * time.Millisecond)
		a.links.Cut(1, 2)
		c.SleepTo(12500 * time.Millisecond)
		a.links.Heal()
		c.SleepTo(15500 * time.Millisecond)
		a.stop()
		b.campaign()
		c.SleepTo(20500 * time.Millisecond)
		for _, r := range c.records() {
			if at := c.At(r.Tick); at > 9*time.Second && at < 12*time.Second || r.Attempt > 1 {
				t.Errorf("tick %v ran at %v, attempt %d", at, c.at(r.start), r.Attempt)
			}
		}
		if got := b.states("job"); got["10s"] != scheduler.StateMissed || got["11s"] == scheduler.StateOK {
			t.Errorf("recorded %v", got)
		}
		if ran, missed := b.accounted("job"); ran+missed != 20 {
			t.Errorf("%d ran, %d were missed, of 20", ran, missed)
		}
	})
}

// After a triggered run in between, the leader still writes the tick again with the same run.
func TestPast_ATickIsWrittenAgainAfterATriggeredRun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "10 * * * * *", quick))
		}
		for _, node := range []int{1, 2} {
			c.SetPreHook(node, func(p *server.Peer, command string, args ...string) bool {
				tick := isAbout("job", command, args) && strings.Contains(strings.Join(args, " "), " open=t")
				if tick {
					p.WriteError(noMemory)
				}
				return tick
			})
		}
		c.SleepTo(10500 * time.Millisecond)
		if err := b.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(12 * time.Second)
		c.SetPreHook(1, nil)
		c.SetPreHook(2, nil)
		c.SleepTo(20 * time.Second)
		runs := c.records()
		if len(runs) != 2 || !runs[0].Manual || runs[1].Manual || c.at(runs[1].Tick) != "10s" {
			t.Errorf("ran %v", c.ran())
		}
	})
}

// The nodes have stored the start of a tick, but the answers were lost, and so was the term. The process that wrote it knows that
// nothing runs.
func TestPast_AnOpenedTickIsRunByTheSameProcessInItsNextTerm(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "12,25 * * * * *", quick))
		c.SleepTo(24900 * time.Millisecond)
		a.links.DropReplies()
		c.SleepTo(40 * time.Second)
		if _, leads := a.elector.Term(); leads {
			t.Fatal("it still leads")
		}
		if got := b.states("job")["25s"]; got != scheduler.StateRunning {
			t.Fatalf("the tick is %q", got)
		}
		a.links.Heal()
		c.SleepTo(70 * time.Second)
		runs := c.records()
		if len(runs) != 2 || c.at(runs[1].Tick) != "25s" || !runs[1].CaughtUp || runs[1].Attempt != 1 {
			t.Errorf("ran %v", c.ran())
		}
		if got := a.states("job")["25s"]; got != scheduler.StateOK {
			t.Errorf("recorded as %q", got)
		}
	})
}

func TestPast_ATickThatAnotherLeaderHasSettledIsNotAskedForAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			job := r.job("job", "12,25 * * * * *", quick)
			job.CatchUp = scheduler.CatchUpAll(time.Hour)
			r.add(job)
		}
		c.SleepTo(24900 * time.Millisecond)
		a.links.DropReplies()
		b.campaign()
		b.leads()
		c.SleepTo(50 * time.Second)
		if got := b.states("job")["25s"]; got != scheduler.StateLost {
			t.Fatalf("the tick is %q", got)
		}
		a.links.Heal()
		b.stop()
		c.SleepTo(80 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 12s@12s", "job 1m12s@1m12s"})
		if got := a.states("job")["25s"]; got != scheduler.StateLost {
			t.Errorf("recorded as %q", got)
		}
	})
}

// isAbout reports whether a command is a write of a job.
func isAbout(job, command string, args []string) bool {
	return command == "EVALSHA" && slices.Contains(args, "{redlock}:runs:x:"+job)
}

const noMemory = "OOM command not allowed when used memory > 'maxmemory'."

// The node that shows that the run did not begin does not answer at first.
func TestPast_ATickThatCannotHaveStartedIsRunAlsoWithASlowNode(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "*/20 * * * * *", quick))
		}
		c.SleepTo(19500 * time.Millisecond)
		a.links.Cut(1, 2)
		c.SleepTo(31 * time.Second)
		a.links.Cut()
		b.links.Hang(2)
		b.campaign()
		b.leads()
		time.Sleep(500 * time.Millisecond)
		b.links.Heal()
		c.SleepTo(39 * time.Second)
		runs := c.records()
		if len(runs) != 1 || c.at(runs[0].Tick) != "20s" || runs[0].Attempt != 1 {
			t.Errorf("ran %v, recorded %v", c.ran(), b.states("job"))
		}
	})
}
