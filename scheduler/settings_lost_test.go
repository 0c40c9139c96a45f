package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// losesOnOne makes a setting while nobody leads and node 2 does not answer, so that nodes 0 and 1 store it. Then node 1 restarts
// with older data, and b leads in place of a.
func (c *cluster) losesOnOne(a, b *replica, set func(r *replica, ctx context.Context, job string, opts ...scheduler.ChangeOption) error) {
	c.T.Helper()
	c.SleepTo(62 * time.Second)
	file := c.Snapshot(1)
	b.campaign()
	c.SleepTo(65 * time.Second)
	a.links.Cut() // a dies: nobody leads until its lease has run out
	p := c.idle("p")
	p.links.Cut(2)
	if err := set(p, c.T.Context(), "job"); err != nil {
		c.T.Fatal(err)
	}
	time.Sleep(time.Second)
	c.RestartFrom(1, file)
	b.leads()
	c.SleepTo(90 * time.Second)
}

// Two nodes of three do not have a pause, and one of these has lost it. The next leader obeys the pause.
func TestLost_APauseThatOneNodeLostIsApplied(t *testing.T) {
	for _, had := range []bool{false, true} {
		t.Run(fmt.Sprint("the older data has an older setting: ", had), func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				a.add(a.job("job", "*/10 * * * * *", quick))
				b.add(b.job("other", "@yearly", quick))
				c.SleepTo(12 * time.Second)
				if had { // paused and resumed once, at any time
					c.must(a.Pause(t.Context(), "job"))
					time.Sleep(time.Second)
					c.must(a.Resume(t.Context(), "job"))
				}
				c.losesOnOne(a, b, (*replica).Pause)
				b.add(b.job("job", "*/10 * * * * *", quick)) // now the leader b has the job
				c.SleepTo(3 * time.Minute)
				if s := b.status("job"); !s.Paused {
					t.Errorf("not paused: %+v", s)
				}
				for _, run := range c.records() {
					if run.start.After(c.Start.Add(63 * time.Second)) {
						t.Errorf("ran %s", c.at(run.Tick))
						break
					}
				}
			})
		})
	}
}

// A trigger waits for the run under way, and two nodes restart without data, one after the other. Then the leader dies.
func TestLost_ATriggerThatWaitsOutlivesARollingRestart(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "@every 24h", lasting(5*time.Minute), queued)
		c.SleepTo(10 * time.Second)
		for range 2 {
			c.must(a.Trigger(t.Context(), "job"))
			time.Sleep(time.Second)
		}
		for node := range 2 {
			c.SleepTo(time.Minute + time.Duration(node)*time.Minute)
			c.Kill(node + 1)
			c.Wipe(node + 1)
			c.Restart(node + 1)
		}
		c.SleepTo(4 * time.Minute)
		b.campaign()
		a.links.Cut() // a dies
		b.leads()
		c.SleepTo(6 * time.Minute)
		h, err := b.History(t.Context(), "job", 10)
		if err != nil || len(h) != 2 {
			t.Errorf("ran %v, history %+v, %v", c.ran(), h, err)
		}
	})
}

// A pause is set while the leader drains, on nodes 0 and 1. Node 1 restarts without data, and gets the job again with the end of
// its run.
func TestLost_APauseInADrainIsApplied(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		c.opts = []election.Option{election.WithDrainTimeout(5 * time.Minute)}
		a, b := c.leader("a"), c.replica("b")
		addBoth(a, b, "0 * * * * *", lasting(90*time.Second))
		c.SleepTo(65 * time.Second)
		a.stop()
		c.SleepTo(66 * time.Second)
		b.links.Cut(2)
		c.must(b.Pause(t.Context(), "job"))
		time.Sleep(5 * time.Second) // go-redis retries for a while
		b.links.Heal(2)
		c.SleepTo(80 * time.Second)
		c.Kill(1)
		c.Wipe(1)
		c.Restart(1)
		<-a.ended
		b.leads()
		c.SleepTo(4 * time.Minute)
		if s := b.status("job"); !s.Paused {
			t.Errorf("not paused: %+v; ran %v", s, c.ran())
		}
	})
}

// All nodes restart without data, one after the other, while the leader drains. Of the others, one answers later than the node that
// restarted: the leader goes on before it knows that a majority has lost nothing.
func TestLost_APauseOutlivesARollingRestartInADrain(t *testing.T) {
	for _, drains := range []bool{false, true} {
		t.Run(fmt.Sprint(drains), func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				c.opts = []election.Option{election.WithDrainTimeout(10 * time.Minute)}
				lost := ""
				hooks := scheduler.WithHooks(scheduler.Hooks{DataLost: func(job string) { lost += job + " " }})
				a, b := c.leader("a", hooks), c.replica("b", hooks)
				addBoth(a, b, "0 * * * * *", quick)
				a.add(a.job("other", "0 1 * * * *", lasting(5*time.Minute)))
				b.add(b.job("other", "0 1 * * * *", quick))
				c.SleepTo(10 * time.Second)
				c.must(b.Pause(t.Context(), "job"))
				c.SleepTo(65 * time.Second)
				if drains {
					a.stop()
				}
				for node := range 3 {
					c.SleepTo(81*time.Second + time.Duration(node)*time.Minute)
					a.links.Heal()
					a.links.Delay(time.Millisecond, (node+1)%3)
					c.Kill(node)
					c.Wipe(node)
					c.Restart(node)
				}
				c.SleepTo(300 * time.Second)
				if !drains {
					a.stop()
				}
				<-a.ended
				b.leads()
				c.SleepTo(430 * time.Second)
				if s := b.status("job"); !s.Paused {
					t.Errorf("not paused: %+v; ran %v; lost %q", s, c.ran(), lost)
				}
			})
		})
	}
}
