package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/scheduler"
)

const setBackLine = "the nodes' clocks were set back: ticks follow them, and no tick that came before is started again"

// jumpAll steps the clocks of all nodes.
func (c *cluster) jumpAll(nodes int, by time.Duration) {
	for i := range nodes {
		c.Jump(i, by)
	}
}

// ticksOf returns how often each tick of a job has run.
func (c *cluster) ticksOf(job string) map[string]int {
	ran := make(map[string]int)
	for _, run := range c.records() {
		if run.Job == job && !run.Manual {
			ran[c.at(run.Tick)]++
		}
	}
	return ran
}

// The machines of all nodes boot with clocks that are ahead, and are set right while a leader leads.
func TestSetBack_JobsRunAgainAtOnce(t *testing.T) {
	const minute, hour = time.Minute, time.Hour
	for _, test := range []struct {
		nodes int
		ahead time.Duration
	}{{1, minute}, {1, 10 * hour}, {1, 400 * 24 * hour}, {3, 10 * hour}} {
		t.Run(fmt.Sprint(test.nodes, " nodes, ", test.ahead, " ahead"), func(t *testing.T) {
			withShortLeases(t, test.nodes, func(t *testing.T, c *cluster) {
				c.jumpAll(test.nodes, test.ahead)
				a := c.leader("a")
				for _, name := range []string{"job", "new"} { // the nodes do not know the second one yet
					a.add(a.job(name, "*/10 * * * *", quick))
				}
				c.SleepTo(25 * minute)
				c.jumpAll(test.nodes, -test.ahead)
				c.SleepTo(61 * minute)
				for _, name := range []string{"job", "new"} {
					ran := c.ticksOf(name)
					for tick := 30 * minute; tick <= hour; tick += 10 * minute {
						if ran[tick.String()] != 1 {
							t.Errorf("%s ran %d times at %v", name, ran[tick.String()], tick)
						}
					}
					if s := a.status(name); c.at(s.Next) != "1h10m0s" || s.Reason != "" {
						t.Errorf("%+v", s)
					}
				}
				for _, run := range c.records() {
					if at := c.At(run.start); at > 25*minute && run.start.Sub(run.Tick) > time.Second {
						t.Errorf("%s was late: it ran at %v", c.at(run.Tick), at)
					}
				}
				lines := a.logs.FilterMessage(setBackLine).All()
				if len(lines) != 1 || lines[0].ContextMap()["by"].(time.Duration).Round(time.Second) != test.ahead {
					t.Errorf("logged %v", lines)
				}
			})
		})
	}
}

// Ticks that were opened by the clocks that were ahead do not start again when their time comes. They are recorded.
func TestSetBack_NoTickStartsTwice(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			withShortLeases(t, nodes, func(t *testing.T, c *cluster) {
				a := c.leader("a")
				job := a.job("job", "0 * * * * *", quick)
				job.CatchUp = scheduler.CatchUpNone()
				a.add(job)
				c.SleepTo(10*time.Minute + 30*time.Second)
				c.jumpAll(nodes, 20*time.Minute) // 31m0s to 35m0s come first
				c.SleepTo(15*time.Minute + 30*time.Second)
				c.jumpAll(nodes, -20*time.Minute)
				c.SleepTo(45*time.Minute + 30*time.Second)
				ran := c.ticksOf("job")
				for tick := time.Minute; tick <= 45*time.Minute; tick += time.Minute {
					passed := tick > 10*time.Minute && tick <= 15*time.Minute
					if n := ran[tick.String()]; n > 1 || n == 0 && !passed {
						t.Errorf("%v ran %d times", tick, n)
					}
				}
				if missed := a.logs.FilterField(zap.String("reason", jobmachine.ReasonRan)).Len(); missed != 5 {
					t.Errorf("%d ticks are recorded as missed because they ran before", missed)
				}
			})
		})
	}
}

// Pauses and triggers that were made by the clocks that were ahead stay what they are.
func TestSetBack_SettingsStayValid(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			withShortLeases(t, nodes, func(t *testing.T, c *cluster) {
				const ahead = time.Hour
				c.jumpAll(nodes, ahead)
				a := c.leader("a")
				a.add(a.job("first", "0 * * * * *", quick), a.job("second", "0 * * * * *", quick))
				c.SleepTo(5*time.Minute + 30*time.Second)
				c.must(a.Pause(t.Context(), "first"))
				c.must(a.Trigger(t.Context(), "second"))
				c.SleepTo(10*time.Minute + 30*time.Second)
				c.jumpAll(nodes, -ahead)
				c.SleepTo(20*time.Minute + 30*time.Second)
				if s := a.status("first"); !s.Paused || s.Pause.At.After(c.Start.Add(20*time.Minute)) {
					t.Errorf("%+v", s)
				}
				c.must(a.Trigger(t.Context(), "first"))
				if r, err := a.TriggerAndWait(t.Context(), "second"); err != nil || c.At(r.Tick) > 21*time.Minute {
					t.Errorf("%+v, %v", r, err)
				}
				c.must(a.Pause(t.Context(), "second"))
				c.SleepTo(25*time.Minute + 30*time.Second)
				c.must(a.Resume(t.Context(), "second"))
				c.SleepTo(ahead + 10*time.Minute)
				for i := range nodes {
					c.Restart(i) // the leader reads the jobs again
				}
				c.SleepTo(ahead + 20*time.Minute + 30*time.Second)
				manual := make(map[string]int)
				for _, run := range c.records() {
					if run.Manual {
						manual[run.Job]++
					}
					if after := c.At(run.start); run.Job == "first" && !run.Manual && after > 6*time.Minute {
						t.Errorf("the paused job ran at %v", after)
					}
				}
				if manual["first"] != 1 || manual["second"] != 2 {
					t.Errorf("triggered runs: %v", manual)
				}
				if n := c.ticksOf("second")["20m0s"]; n != 1 {
					t.Errorf("the other job ran %d times at 20m", n)
				}
			})
		})
	}
}

// The clocks are set right while nobody leads. The job is paused just before, so no leader has learned of it.
func TestSetBack_ANewLeader(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			withShortLeases(t, nodes, func(t *testing.T, c *cluster) {
				c.jumpAll(nodes, 10*time.Hour)
				a, b := c.leader("a"), c.idle("b")
				a.add(a.job("first", "0 * * * * *", quick), a.job("second", "0 * * * * *", quick))
				b.add(b.job("first", "0 * * * * *", quick), b.job("second", "0 * * * * *", quick))
				c.SleepTo(5*time.Minute + 30*time.Second)
				a.leaves()
				c.must(b.Pause(t.Context(), "first"))
				c.jumpAll(nodes, -10*time.Hour)
				b.campaign()
				c.SleepTo(10*time.Minute + 30*time.Second)
				if s := b.status("first"); !s.Paused || c.ticksOf("first")["10m0s"] != 0 {
					t.Errorf("%+v", s)
				}
				for tick := 6 * time.Minute; tick <= 10*time.Minute; tick += time.Minute {
					if n := c.ticksOf("second")[tick.String()]; n != 1 {
						t.Errorf("%v ran %d times", tick, n)
					}
				}
				if lines := b.logs.FilterMessage(setBackLine).Len(); lines != 1 {
					t.Errorf("logged %d times", lines)
				}
			})
		})
	}
}
