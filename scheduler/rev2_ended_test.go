package scheduler_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// ended has a run of a be over, of which node 2 does not hear; then a dies. The job is AtLeastOnce.
func (c *cluster) ended(dead ...int) (b *replica, told *[]scheduler.Record) {
	c.t.Helper()
	told = new([]scheduler.Record)
	a := c.leader("a")
	b = c.idle("b", scheduler.WithHooks(scheduler.Hooks{Finished: func(r scheduler.Record) { *told = append(*told, r) }}))
	for _, r := range []*replica{a, b} {
		job := r.job("job", "0 * * * * *", lasting(5*time.Second))
		job.AtLeastOnce = true
		r.add(job)
	}
	c.sleepTo(62 * time.Second) // all nodes have voted
	a.process.Cut(2)
	c.sleepTo(68 * time.Second)
	a.process.Cut()
	for _, node := range dead {
		c.Kill(node)
	}
	b.campaign()
	b.leads()
	c.sleepTo(110 * time.Second)
	return b, told
}

func TestTakeOver_NotOfARunThatHasEnded(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		b, _ := c.ended()
		for range 8 { // whatever two nodes answer first
			if got := b.states("job"); got["1m0s"] != scheduler.StateOK {
				t.Errorf("recorded %v, running %v", got, b.status("job").Running)
			}
		}
		for node := range 3 {
			keys, _ := c.Node(node).HKeys("{redlock}:job:x:job")
			for _, k := range keys {
				if k[:2] == "o:" {
					t.Errorf("node %d: %s", node, k)
				}
			}
		}
	})
}

// Of the nodes that know of the end one is away.
func TestTakeOver_NotOfARunWhoseEndOneNodeKnows(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		b, told := c.ended(0)
		c.sleepTo(140 * time.Second)
		if got := b.states("job"); got["1m0s"] != scheduler.StateOK {
			t.Errorf("recorded %v, told %+v", got, *told)
		}
	})
}
