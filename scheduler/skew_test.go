package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// The wall clocks of three replicas differ, and leaders change: every tick runs once and on time.
func TestSkew_EveryTickRunsOnceWhateverTheClocksOfTheReplicas(t *testing.T) {
	for skew, lasts := range map[time.Duration]time.Duration{
		0: 3 * time.Second, 200 * time.Millisecond: 300 * time.Millisecond, 5 * time.Second: 0, -time.Hour: 3 * time.Second,
	} {
		t.Run(fmt.Sprint(skew, " apart, runs of ", lasts), func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) { c.skew(skew, lasts, *skewTicks) })
		})
	}
}

func (c *cluster) skew(skew, lasts time.Duration, ticks int) {
	var all []*replica
	for i := range 3 {
		r := c.idle(fmt.Sprint("pod-", i))
		r.clock.Step(time.Duration(i-1) * skew)
		job := r.job("job", "* * * * * *", lasting(lasts))
		job.Overlap, job.CatchUp = scheduler.Allow, scheduler.CatchUpAll(time.Minute)
		r.add(job)
		r.campaign()
		all = append(all, r)
	}
	for c.At(time.Now()) < time.Duration(ticks)*time.Second {
		time.Sleep(9500 * time.Millisecond)
		for _, r := range all {
			if term, leads := r.elector.Term(); leads {
				r.clock.Step(skew) // it goes on with the clock set by another skew
				term.Resign(nil)
			}
		}
	}
	time.Sleep(10 * time.Second)
	for _, r := range all {
		r.leaves()
	}

	seen := make(map[time.Time]int)
	by := make(map[string]bool)
	var last time.Time
	for _, run := range c.records() {
		seen[run.Tick]++
		by[run.by] = true
		if run.Tick.After(last) {
			last = run.Tick
		}
		if early := run.Tick.Sub(run.start); early > 0 {
			c.T.Errorf("tick %v started %v before its time", c.at(run.Tick), early)
		}
	}
	for tick := c.Start.Add(time.Second); !tick.After(last); tick = tick.Add(time.Second) {
		if n := seen[tick.UTC()]; n != 1 {
			c.T.Errorf("tick %v ran %d times", c.at(tick), n)
		}
	}
	if len(seen) < ticks || len(by) < 2 {
		c.T.Errorf("%d ticks ran on %d replicas, want at least %d on 2", len(seen), len(by), ticks)
	}
}

// A leader whose clock is set goes on as before, and reports that once.
func TestSkew_AClockThatIsSetChangesNoTick(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				reported := make(chan time.Duration, 10)
				r := c.leader("a", scheduler.WithHooks(scheduler.Hooks{
					ClockSkew: func(d time.Duration) { reported <- d },
				}))
				r.add(r.job("job", "*/10 * * * * *", quick))
				c.SleepTo(35 * time.Second)
				r.clock.Step(by)
				c.SleepTo(65 * time.Second)
				wantEqual(t, "ran", c.ran(), []string{
					"job 10s@10s", "job 20s@20s", "job 30s@30s", "job 40s@40s", "job 50s@50s", "job 1m0s@1m0s",
				})
				if len(reported) != 1 || <-reported != by {
					t.Error("the skew was not reported exactly once")
				}
			})
		})
	}
}
