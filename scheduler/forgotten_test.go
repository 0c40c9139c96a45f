package scheduler_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// One node loses its data, and later the other two do. The first one knows the pause, because the leader has written it there,
// although the leader had nothing else to write meanwhile.
func TestPoll_ANodeThatLostItsDataGetsTheStateOfEachJobAgain(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "0 * * * * *", quick)
		c.SleepTo(70 * time.Second)
		c.must(a.Pause(t.Context(), "job"))
		c.Delay(5*time.Millisecond, 2) // the other two are a majority without it
		c.SleepTo(90 * time.Second)
		c.Wipe(2)
		c.SleepTo(150 * time.Second)
		a.links.Cut()
		c.Wipe(0)
		c.Wipe(1)
		b.takesOver()
		c.SleepTo(5 * time.Minute)
		wantEqual(t, "ran", c.ran(), []string{"job 1m0s@1m0s"})
		if s := b.status("job"); !s.Paused {
			t.Errorf("status %+v", s)
		}
	})
}

// All nodes restart at once without losing data while a run is under way, and the run's process dies. The run is recorded and
// reported as lost.
func TestLost_IsReportedAfterAQuorumLostItsState(t *testing.T) {
	for name, rolled := range map[string]bool{"voted for": false, "reported of, in a rolling restart before": true} {
		t.Run(name, func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				rec := &recorder{}
				a, b := c.leader("a"), c.idle("b", scheduler.WithHooks(rec.hooks()))
				addBoth(a, b, "@every 3m", untilDone(0))
				c.SleepTo(185 * time.Second)
				for node := range 3 {
					if rolled {
						c.Restart(node)
						time.Sleep(20 * time.Second)
					}
				}
				a.links.Cut()
				for node := range 3 {
					c.Restart(node)
				}
				b.takesOver()
				c.SleepTo(350 * time.Second)
				if got := b.states("job")["3m0s"]; got != scheduler.StateLost {
					t.Errorf("recorded %q", got)
				}
				if reported := strings.Join(rec.reported(), "\n"); strings.Count(reported, "finished: lost") != 1 {
					t.Errorf("reported %s", reported)
				}
			})
		})
	}
}

// One node restarts; the other two go on. The ticks of many jobs do not wait while the leader writes the jobs to that node again.
func TestRewrite_OfManyJobsHoldsUpNoTick(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		c.SleepTo(13 * time.Second)
		const jobs = 100
		for i := range jobs {
			a.add(a.job(fmt.Sprint("job", i), "@every 1s", quick))
		}
		a.links.Delay(20 * time.Millisecond) // a round trip of 40 ms
		c.SleepTo(17500 * time.Millisecond)
		c.Restart(2)
		c.SleepTo(26 * time.Second)
		ticks := make(map[string]int)
		for _, run := range c.records() {
			ticks[c.at(run.Tick)]++
		}
		for tick := 16; tick <= 25; tick++ {
			if n := ticks[(time.Duration(tick) * time.Second).String()]; n != jobs {
				t.Errorf("at %d s %d of %d ran", tick, n, jobs)
			}
		}
	})
}

// Somebody triggers a run while nobody leads, and then two nodes restart without losing data. The trigger runs, or is reported as
// missed.
func TestTrigger_WhileNobodyLeadsIsRunOrReported(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		var missed atomic.Int64
		a := c.idle("a", scheduler.WithHooks(scheduler.Hooks{
			Missed: func(_ string, n int, _ string) { missed.Add(int64(n)) },
		}))
		a.add(a.job("job", "@every 24h", quick))
		c.SleepTo(time.Minute)
		c.must(a.Trigger(t.Context(), "job"))
		c.Restart(0)
		c.Restart(1)
		a.campaign()
		c.SleepTo(5 * time.Minute)
		if got := len(c.records()) + int(missed.Load()); got != 1 {
			t.Errorf("ran %v, reported %d, recorded %v", c.ran(), missed.Load(), a.states("job"))
		}
	})
}

// Nobody leads while two nodes restart without losing data: nobody can tell any more whether earlier ticks have run.
func TestForgotten_ATickThatTheNodesLostIsRecorded(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "*/10 * * * * *", quick, catchUpAll)
		c.SleepTo(12 * time.Second)
		a.leaves()
		c.SleepTo(32 * time.Second)
		c.Restart(1)
		c.Restart(2)
		b.takesOver()
		c.SleepTo(65 * time.Second)
		var ran []string
		for _, run := range c.records() {
			ran = append(ran, c.at(run.Tick))
		}
		wantEqual(t, "ran", ran, []string{"10s", "40s", "50s", "1m0s"})
		if s := b.status("job"); s.Missed != 2 {
			t.Errorf("%d ticks are counted as missed, want 2", s.Missed)
		}
		if got := b.states("job"); got["20s"] != scheduler.StateMissed || got["30s"] != scheduler.StateMissed {
			t.Errorf("recorded %v", got)
		}
	})
}

// One node has lost its state, and another one does not answer for a moment. A job is added that an earlier leader had.
func TestForgotten_NodesThatAreAwayAreWaitedFor(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		c.ttl = 3 * ttl
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "*/10 * * * * *", quick))
		c.SleepTo(12 * time.Second)
		a.leaves()
		b.add(b.job("first", "@yearly", quick))
		b.campaign()
		term := b.leads()
		c.SleepTo(21 * time.Second)
		for before := term.Deadline(); term.Deadline().Equal(before); {
			time.Sleep(time.Millisecond) // until the lease has just been renewed
		}
		b.links.Cut(2)
		c.Wipe(1)
		_, err := a.Jobs(t.Context()) // has the node replaced in the list, for which b does not hear enough
		want.NoError(t, err)
		time.Sleep(100 * time.Millisecond)
		if err := a.Trigger(t.Context(), "first"); err != nil { // b learns that the node has lost its state
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		known := b.job("job", "*/10 * * * * *", quick)
		known.CatchUp = scheduler.CatchUpAll(time.Hour)
		b.add(known)
		time.Sleep(2 * time.Second)
		b.links.Heal()
		time.Sleep(5 * time.Second)
		if now, ok := b.elector.Term(); !ok || now != term {
			t.Fatal("the term did not survive")
		}
		if ran, missed := b.accounted("job"); missed != 0 || ran < 3 {
			t.Errorf("%d ticks were missed, ran %v", missed, c.ran())
		}
	})
}

// The leader has the job, has not written it yet, and somebody calls Forget.
func TestForget_NotAJobThatTheLeaderHasYetToWrite(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		b := takenOverWithASlowNode(c)
		want.Err(t, c.idle("x").Forget(t.Context(), "job"), scheduler.ErrJobInUse)
		b.links.Heal()
		c.SleepTo(50 * time.Second)
		ran, missed := b.accounted("job")
		if history, _ := b.History(t.Context(), "job", 50); ran+missed < 2 {
			t.Errorf("among the ticks of 20s and 40s %d ran and %d were missed: %v", ran, missed, history)
		}
	})
}

// A majority has just restarted without losing data. The leader goes on and has the job.
func TestForget_RefusesAfterAMajorityHasRestarted(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, wait := range []time.Duration{0, 5 * time.Millisecond, 700 * time.Millisecond, 2500 * time.Millisecond} {
			t.Run(fmt.Sprintf("of %d, after %v", nodes, wait), func(t *testing.T) {
				inBubble(t, nodes, func(t *testing.T, c *cluster) {
					a, b := c.leader("a"), c.idle("b")
					a.add(a.job("job", "* * * * * *", quick))
					c.SleepTo(30300 * time.Millisecond)
					for i := nodes / 2; i < nodes; i++ {
						c.Restart(i)
					}
					time.Sleep(wait)
					want.Err(t, b.Forget(t.Context(), "job"), scheduler.ErrJobInUse)
				})
			})
		}
	}
}
