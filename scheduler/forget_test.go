package scheduler_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// The leader has the job, has not written it yet, and somebody calls Forget.
func TestForget_NotAJobThatTheLeaderHasYetToWrite(t *testing.T) {
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
		if err := c.idle("x").Forget(t.Context(), "job"); !errors.Is(err, scheduler.ErrJobInUse) {
			t.Errorf("forget: %v", err)
		}
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
	for _, nodes := range []int{1, 3, 5} {
		for _, wait := range []time.Duration{0, 5 * time.Millisecond, 700 * time.Millisecond, 2500 * time.Millisecond} {
			for _, first := range []int{0, nodes / 2} { // the first of the nodes that restart
				t.Run(fmt.Sprintf("nodes from %d of %d, after %v", first, nodes, wait), func(t *testing.T) {
					inBubble(t, nodes, func(t *testing.T, c *cluster) {
						a, b := c.leader("a"), c.idle("b")
						a.add(a.job("job", "* * * * * *", quick))
						c.SleepTo(30300 * time.Millisecond)
						for i := first; i < nodes; i++ {
							c.Restart(i)
						}
						time.Sleep(wait)
						if err := b.Forget(t.Context(), "job"); !errors.Is(err, scheduler.ErrJobInUse) {
							t.Errorf("forget: %v", err)
						}
					})
				})
			}
		}
	}
}

// A node that did not answer when a job was forgotten deletes it in the next call.
func TestForget_AgainReachesANodeThatWasAway(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "* * * * * *", quick))
		c.SleepTo(30500 * time.Millisecond)
		if err := a.Remove("job"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		b.links.Cut(2)
		if err := b.Forget(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		b.links.Heal(2)
		time.Sleep(30 * time.Second)
		if c.Node(2).HGet(hash, "job") == "" {
			t.Fatal("the node lost the job before the second call")
		}
		if err := b.Forget(t.Context(), "job"); err != nil {
			t.Error(err)
		}
		if state := c.Node(2).HGet(hash, "job"); state != "" {
			t.Errorf("the node still has %q", state)
		}
	})
}
