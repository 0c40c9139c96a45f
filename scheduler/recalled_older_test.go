package scheduler_test

import (
	"fmt"
	"testing"
	"time"
)

// The only node's clock was set back, later somebody empties it, and later still it restarts with all of its data. What a process saw
// before the data was lost has a larger ballot than what it wrote since, but is older.
func TestFollow_WhatWasSeenBeforeALossIsOlder(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, others := range []bool{false, true} {
			t.Run(fmt.Sprint(nodes, " nodes, another leads meanwhile: ", others), func(t *testing.T) {
				withShortLeases(t, nodes, func(t *testing.T, c *cluster) {
					a := c.leader("a")
					a.add(a.job("first", "0 * * * * *", quick), a.job("second", "0 * * * * *", quick))
					c.SleepTo(5*time.Minute + half)
					c.jumpAll(nodes, -20*time.Minute)
					c.SleepTo(15*time.Minute + half)
					c.restartAll(nodes, true)
					c.SleepTo(25*time.Minute + half)
					c.must(a.Pause(t.Context(), "first"))
					c.SleepTo(26*time.Minute + half)
					before := len(c.ticksOf("first"))
					c.SleepTo(40*time.Minute + half)
					if s := a.status("first"); !s.Paused || len(c.ticksOf("first")) != before {
						t.Fatalf("before the restart: %+v", s)
					}
					if others {
						b := c.replica("b")
						b.add(b.job("first", "0 * * * * *", quick), b.job("second", "0 * * * * *", quick))
						a.leaves()
						b.leads()
						time.Sleep(5 * time.Minute)
						b.leaves()
						a.campaign()
						a.leads()
					}
					c.restartAll(nodes, false)
					time.Sleep(20 * time.Minute)
					if s := a.status("first"); !s.Paused || len(c.ticksOf("first")) != before {
						t.Errorf("paused: %v, data lost at %v, ran %d times, and %d times before it was paused", s.Paused,
							s.DataLost, len(c.ticksOf("first")), before)
					}
					c.wantNoneTwice("second")
				})
			})
		}
	}
}

// restartAll restarts all nodes, with or without their data.
func (c *cluster) restartAll(nodes int, empty bool) {
	for i := range nodes {
		c.Kill(i)
	}
	time.Sleep(20 * time.Second)
	for i := range nodes {
		if empty {
			c.Wipe(i)
		}
		c.Restart(i)
	}
}
