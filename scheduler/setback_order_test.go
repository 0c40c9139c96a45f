package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/scheduler"
)

func allowed(job *scheduler.Job) { job.Overlap = scheduler.Allow }

// wantNoneTwice fails if a tick of the job ran twice, with what ran.
func (c *cluster) wantNoneTwice(job string) {
	c.T.Helper()
	starts := make(map[string][]string)
	var order []string
	for _, r := range c.records() {
		if tick := c.at(r.Tick); r.Job == job && !r.Manual {
			if len(starts[tick]) == 0 {
				order = append(order, tick)
			}
			starts[tick] = append(starts[tick], fmt.Sprintf("on %s at %v, attempt %d", r.by, c.at(r.start), r.Attempt))
		}
	}
	for _, tick := range order {
		if len(starts[tick]) > 1 {
			c.T.Errorf("%s ran %d times: %q", tick, len(starts[tick]), starts[tick])
		}
	}
}

// A leader is cut off, or stops, while a run of it goes on. Another one leads, and the clocks are set back behind the first leader's
// ballot. When they reach it again, the run returns, and the first leader stores the end under it: the nodes must refuse that.
func TestSetBack_ABallotFromBefore(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, stops := range []bool{false, true} {
			t.Run(fmt.Sprint(nodes, " nodes, it stops: ", stops), func(t *testing.T) {
				withShortLeases(t, nodes, func(t *testing.T, c *cluster) {
					const back = 80 * time.Second
					c.SleepTo(time.Minute)
					a, b := c.leader("a"), c.idle("b")
					work := func(_ context.Context, call int) error {
						if call == 1 {
							time.Sleep(time.Until(c.Start.Add(150 * time.Second)))
						}
						return nil
					}
					addBoth(a, b, "*/10 * * * * *", work, allowed)
					c.SleepTo(72 * time.Second) // 1m10s runs
					if stops {
						a.stop()
					} else {
						a.links.Cut()
					}
					b.takesOver()
					c.SleepTo(125 * time.Second)
					c.jumpAll(nodes, -back) // the clocks show 45 s
					c.SleepTo(148 * time.Second)
					a.links.Heal() // 68 s; the run returns at 70 s
					c.SleepTo(back + 135*time.Second)
					c.wantNoneTwice("job")
				})
			})
		}
	}
}

// The clocks are set back by 20 s. The leader's first write after that reaches one node only, and the leader dies. Nothing is ahead
// any more when the next one leads with the other two nodes. The third leader reaches the first node and one of these: the first
// node's state is not the later one.
func TestSetBack_AStateThatOneNodeHas(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		const back = 20 * time.Second
		c.SleepTo(time.Minute)
		a, b, d := c.leader("a"), c.idle("b"), c.idle("d")
		addBoth(a, b, "*/10 * * * * *", quick, allowed, catchUpAll)
		job := d.job("job", "*/10 * * * * *", quick)
		allowed(&job)
		catchUpAll(&job)
		d.add(job)
		c.SleepTo(124 * time.Second)
		for _, node := range []int{1, 2} {
			c.SetPreHook(node, func(p *server.Peer, command string, args ...string) bool {
				if isAbout("job", command, args) {
					p.WriteError(noMemory)
					return true
				}
				return false
			})
		}
		c.jumpAll(3, -back)
		c.SleepTo(130 * time.Second)
		a.links.Cut()
		c.SetPreHook(1, nil)
		c.SetPreHook(2, nil)
		b.links.Cut(0)
		b.takesOver()
		c.SleepTo(back + 165*time.Second)
		b.links.Cut()
		d.links.Cut(2)
		d.takesOver()
		c.SleepTo(back + 215*time.Second)
		c.wantNoneTwice("job")
	})
}
