package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/scheduler"
)

const half = 30 * time.Second

// A job is forgotten and added again: what ran before that does not start again after the set-back.
func TestSetBack_AForgottenJobIsAddedAgain(t *testing.T) {
	for name, test := range map[string]struct{ forget, back time.Duration }{
		"forgotten before": {15*time.Minute + half, 16*time.Minute + half},
		"forgotten after":  {17*time.Minute + half, 16*time.Minute + half},
	} {
		for _, nodes := range []int{1, 3} {
			t.Run(fmt.Sprint(name, ", ", nodes, " nodes"), func(t *testing.T) {
				withShortLeases(t, nodes, func(t *testing.T, c *cluster) {
					a := c.leader("a")
					job := a.job("job", "0 * * * * *", quick)
					a.add(job)
					c.SleepTo(10*time.Minute + half)
					c.jumpAll(nodes, 20*time.Minute)
					time.AfterFunc(time.Until(c.Start.Add(test.back)), func() { c.jumpAll(nodes, -20*time.Minute) })
					c.SleepTo(test.forget)
					c.must(a.Remove("job"))
					time.Sleep(10 * time.Second)
					c.must(a.Forget(t.Context(), "job"))
					c.SleepTo(18*time.Minute + half)
					if nodes > 1 {
						c.Cut(0)
					}
					a.add(job)
					c.SleepTo(45 * time.Minute)
					c.wantNoneTwice("job")
					if n := c.ticksOf("job")["40m0s"]; n != 1 {
						t.Errorf("40m0s ran %d times", n)
					}
				})
			})
		}
	}
}

// The only node loses a job that the next leader has not seen, and its clock is set back behind that later.
func TestSetBack_BehindALossOfData(t *testing.T) {
	long(t)
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "0 * * * * *", quick))
		c.SleepTo(15*time.Minute + half)
		a.links.Cut()
		c.restartsEmpty(0, time.Second)
		c.SleepTo(17*time.Minute + half)
		b := c.leader("b")
		b.add(b.job("job", "0 * * * * *", quick))
		c.SleepTo(25*time.Minute + half)
		c.jumpAll(1, -15*time.Minute)
		c.SleepTo(45 * time.Minute)
		c.wantNoneTwice("job")
	})
}

// The only node loses its data some time after the set-back. The next leader has read the jobs before the set-back last.
func TestSetBack_WhatAProcessHasSeenBefore(t *testing.T) {
	long(t)
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.replica("b")
		for _, name := range []string{"job", "first"} {
			addJob := func(r *replica) { r.add(r.job(name, "0 * * * * *", quick)) }
			addJob(a)
			addJob(b)
		}
		c.SleepTo(2*time.Minute + half)
		c.must(a.Pause(t.Context(), "first"))
		c.SleepTo(10*time.Minute + half)
		c.jumpAll(1, 20*time.Minute)
		c.SleepTo(16*time.Minute + half)
		c.jumpAll(1, -20*time.Minute)
		c.SleepTo(18*time.Minute + half)
		a.links.Cut()
		c.restartsEmpty(0, time.Second)
		c.SleepTo(40 * time.Minute)
		c.wantNoneTwice("job")
		for tick := range c.ticksOf("first") {
			if tick != "1m0s" && tick != "2m0s" {
				t.Errorf("the job that was paused at 2m30s ran %s", tick)
			}
		}
	})
}

// Somebody waits for a triggered run, which waits for an earlier one, when the clocks are set back.
func TestSetBack_TriggerAndWait(t *testing.T) {
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		c.jumpAll(1, 20*time.Minute)
		a := c.leader("a")
		job := a.job("job", "@yearly", lasting(40*time.Second))
		job.Overlap = scheduler.Queue
		a.add(job)
		c.SleepTo(5*time.Minute + half)
		c.must(a.Trigger(t.Context(), "job"))
		c.SleepTo(5*time.Minute + 40*time.Second)
		time.AfterFunc(5*time.Second, func() { c.jumpAll(1, -20*time.Minute) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		r, err := a.TriggerAndWait(ctx, "job")
		if runs := c.records(); err != nil || r.State != scheduler.StateOK || len(runs) != 2 || c.At(time.Now()) < 6*time.Minute+half {
			t.Errorf("%+v, %v, %d runs", r, err, len(runs))
		}
	})
}

// Two of three nodes are set back, and the third one later. Meanwhile it does not count, also for another leader.
func TestSetBack_TwoOfThreeNodes(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		c.jumpAll(3, 20*time.Minute)
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "0 * * * * *", quick)
		c.SleepTo(5*time.Minute + half)
		c.jumpAll(2, -20*time.Minute)
		c.SleepTo(10*time.Minute + half)
		a.links.Cut()
		b.takesOver()
		c.SleepTo(15*time.Minute + half)
		c.Jump(2, -20*time.Minute)
		c.SleepTo(20*time.Minute + half)
		c.Cut(0) // the third one counts again
		c.SleepTo(30 * time.Minute)
		c.wantNoneTwice("job")
		ran := c.ticksOf("job")
		for _, tick := range []string{"9m0s", "14m0s", "19m0s", "28m0s"} {
			if ran[tick] != 1 {
				t.Errorf("%s ran %d times: %v", tick, ran[tick], ran)
			}
		}
	})
}

// Nobody leads for a while after the clocks were set back. Each tick runs or has a record.
func TestSetBack_NobodyLeads(t *testing.T) {
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		c.jumpAll(1, 10*time.Hour)
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "0 * * * * *", quick)
		c.SleepTo(5*time.Minute + half)
		a.leaves()
		c.jumpAll(1, -10*time.Hour)
		c.SleepTo(15*time.Minute + half)
		b.takesOver()
		c.SleepTo(18*time.Minute + half)
		if s := b.status("job"); s.Missed < 10 || c.ticksOf("job")["18m0s"] != 1 {
			t.Errorf("missed %d of the 10 ticks that came meanwhile, ran %v", s.Missed, c.ticksOf("job"))
		}
	})
}

// A job is new, and its first state is not stored when the clocks are set back.
func TestSetBack_ANewJobThatIsNotStored(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		c.jumpAll(3, 10*time.Hour)
		a := c.leader("a")
		c.SleepTo(5*time.Minute + half)
		for node := range 3 {
			c.SetPreHook(node, func(p *server.Peer, command string, args ...string) bool {
				if isAbout("fresh", command, args) {
					p.WriteError(noMemory)
					return true
				}
				return false
			})
		}
		a.add(a.job("fresh", "0 * * * * *", quick))
		time.Sleep(3 * time.Second)
		c.jumpAll(3, -10*time.Hour)
		time.Sleep(3 * time.Second)
		for node := range 3 {
			c.SetPreHook(node, nil)
		}
		c.SleepTo(20 * time.Minute)
		if n := c.runsOf("fresh"); n < 10 {
			t.Errorf("it ran %d times in 14 minutes", n)
		}
	})
}
