package scheduler_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/scheduler"
)

// oneDeadOneForgot leaves one node that remembers. The leader has lost its lease with it, and leads again when
// the guard of the node that forgot is over.
func (c *cluster) oneDeadOneForgot() {
	c.Kill(0)
	c.Wipe(1)
}

// accounted are the ticks up to now that ran, and those that were left out.
func (r *replica) accounted(job string) (ran, missed int) {
	for _, rec := range r.c.records() {
		if rec.Job == job && !rec.Manual {
			ran++
		}
	}
	return ran, r.status(job).Missed
}

// The node that forgot votes for no tick that it may have voted for before, and the dead one for none at all.
func TestPast_TicksThatCannotBeWonDoNotHoldUpTheOthers(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		job := a.job("job", "*/10 * * * * *", quick)
		job.CatchUp = scheduler.CatchUpAll(time.Hour)
		a.add(job)
		c.SleepTo(25 * time.Second)
		c.oneDeadOneForgot()
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

// A tick may only be given up when there is another one: until then a node that is only away may come back.
func TestPast_ATickIsRunWhenTheNodeThatWasAwayIsBackBeforeTheNext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		job := a.job("job", "30 * * * * *", quick)
		job.CatchUp = scheduler.CatchUpAll(time.Hour)
		a.add(job)
		c.SleepTo(25 * time.Second)
		a.links.Cut(0)
		c.Wipe(1) // nobody leads at the tick, nor can anybody claim it
		c.SleepTo(70 * time.Second)
		if ran := c.ran(); len(ran) != 0 {
			t.Fatalf("ran %v", ran)
		}
		a.links.Heal()
		c.SleepTo(89 * time.Second)
		if ran, missed := a.accounted("job"); ran != 1 || missed != 0 {
			t.Errorf("%d ran, %d were missed: %v", ran, missed, c.ran())
		}
	})
}

// A leader comes to old ticks of which one was half voted for, and a node is away for another second.
func TestPast_AnOldTickIsAskedForUntilNodesThatWereAwayAreBack(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			job := r.job("job", "*/10 * * * * *", quick)
			job.CatchUp, job.Overlap = scheduler.CatchUpAll(time.Hour), scheduler.Queue
			r.add(job)
		}
		c.SleepTo(19500 * time.Millisecond)
		a.links.Cut(1, 2) // only the first node hears of its claim
		c.SleepTo(31 * time.Second)
		a.links.Cut()
		b.links.Cut(1) // the first one has voted for another run: the vote of this one is needed
		b.campaign()
		b.leads()
		c.SleepTo(c.At(time.Now()) + 2*time.Second)
		b.links.Heal()
		c.SleepTo(59 * time.Second)
		for _, r := range c.records() {
			if r.by == "b" {
				if c.at(r.Tick) != "20s" {
					t.Errorf("ran %v", c.ran())
				}
				break
			}
		}
		if ran, missed := b.accounted("job"); ran != 5 || missed != 0 {
			t.Errorf("%d ran, %d were missed, of 5: %v", ran, missed, c.ran())
		}
	})
}

func TestPast_ARunThatNobodyCanTakeOverIsLost(t *testing.T) {
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
		c.oneDeadOneForgot()
		b.campaign()
		b.leads()
		c.SleepTo(115 * time.Second)
		if s := b.states("job")["1m0s"]; s != scheduler.StateRunning {
			t.Errorf("before the next tick it is %v; the dead node might come back", s)
		}
		c.SleepTo(130 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 1m0s@1m0s", "job 2m0s@2m0s"})
		if got := b.states("job"); got["1m0s"] != scheduler.StateLost || got["2m0s"] != scheduler.StateOK {
			t.Errorf("recorded %v", got)
		}
	})
}

func TestPast_ARunByHandThatNobodyCanClaimIsGivenUp(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.idle("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "0 * * * * *", quick))
		}
		if err := b.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.oneDeadOneForgot()
		a.campaign()
		c.SleepTo(70 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 1m0s@1m0s"})
		if lines := a.logs.FilterMessageSnippet("given up").All(); len(lines) != 1 {
			t.Errorf("logged %v", lines)
		}
	})
}

// One node has voted for ticks that nobody won; they were left out for newer ones.
func TestPast_ATickThatWasLeftOutIsNoLostRunToTheNextLeader(t *testing.T) {
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
		if got := b.states("job"); got["10s"] != scheduler.StateMissed || got["11s"] != scheduler.StateMissed {
			t.Errorf("recorded %v", got)
		}
		if ran, missed := b.accounted("job"); ran+missed != 20 {
			t.Errorf("%d ran, %d were missed, of 20", ran, missed)
		}
	})
}

// A run by hand in between does not make the leader forget with which run it has asked for the tick.
func TestPast_ATickIsAskedForAgainAfterARunByHand(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "10 * * * * *", quick))
		}
		for _, node := range []int{1, 2} {
			c.SetPreHook(node, func(p *server.Peer, command string, args ...string) bool {
				tick := isAbout("job", command, args) && slices.Contains(args, "t")
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

// The votes for a tick are there, the answers were lost, and so was the term. Who has asked knows that nothing runs.
func TestPast_ATickThatWasAskedForIsRunByTheSameProcessInItsNextTerm(t *testing.T) {
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
