package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/scheduler"
)

// restartsEmpty makes a node come back without its data after a while.
func (c *cluster) restartsEmpty(node int, after time.Duration) {
	c.Kill(node)
	time.Sleep(after)
	c.Wipe(node)
	c.Restart(node)
}

const lostLine = "a majority of nodes lost the state of jobs, their pauses and history may be gone"

// The only node restarts without its data, and the next leader has never led before. It knows the jobs from the time when another
// process led.
func TestFollow_WhatTheOnlyNodeLoses(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("it has led before: ", again), func(t *testing.T) {
			withShortLeases(t, 1, func(t *testing.T, c *cluster) {
				lost := make(map[string]int)
				a := c.leader("a")
				b := c.replica("b", scheduler.WithHooks(scheduler.Hooks{DataLost: func(job string) { lost[job]++ }}))
				for _, r := range []*replica{a, b} {
					r.add(r.job("first", "0 * * * * *", quick), r.job("second", "0 * * * * *", quick))
				}
				c.SleepTo(30 * time.Second)
				c.must(a.Pause(t.Context(), "first"))
				if again {
					a.leaves()
					b.leads()
				}
				c.SleepTo(6*time.Minute + 30*time.Second)
				if !again {
					a.links.Cut() // a dies
				}
				c.restartsEmpty(0, 100*time.Second)
				c.SleepTo(12*time.Minute + 30*time.Second)
				if s := b.status("first"); !s.Paused || s.DataLost.IsZero() {
					t.Errorf("%+v", s)
				}
				ran := c.ticksOf("second")
				for tick := 9 * time.Minute; tick <= 12*time.Minute; tick += time.Minute {
					if ran[tick.String()] != 1 {
						t.Errorf("%v ran %d times", tick, ran[tick.String()])
					}
				}
				rows, err := b.History(t.Context(), "second", 9)
				c.must(err)
				if row := rows[len(rows)-1]; row.State != scheduler.StateMissed || c.at(row.Tick) != "8m0s" || row.Err != jobmachine.ReasonUnknown {
					t.Errorf("the oldest row is %+v", row)
				}
				if lost["first"] != 1 || lost["second"] != 1 {
					t.Errorf("reported as lost: %v", lost)
				}
				if lines := b.logs.FilterMessage(lostLine).All(); len(lines) != 1 || lines[0].ContextMap()["known_only_here"] != int64(2) {
					t.Errorf("logged %v", lines)
				}
			})
		})
	}
}

// The only node restarts with an older file, in which the job is not paused yet. The next leader knows better.
func TestFollow_TheOnlyNodeHasAnOlderFile(t *testing.T) {
	long(t)
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.replica("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("first", "0 * * * * *", quick), r.job("second", "0 * * * * *", quick), r.job("third", "@yearly", quick))
		}
		c.SleepTo(2*time.Minute + 30*time.Second)
		file := c.Snapshot(0)
		c.must(a.Pause(t.Context(), "first"))
		c.SleepTo(12*time.Minute + 30*time.Second) // b has read it
		a.links.Cut()                              // a dies
		c.RestartFrom(0, file)
		c.SleepTo(20*time.Minute + 30*time.Second)
		if s := b.status("first"); !s.Paused || s.DataLost.IsZero() {
			t.Errorf("%+v", s)
		}
		ran := c.ticksOf("first")
		if len(ran) != 2 {
			t.Errorf("the paused job ran %v", ran)
		}
		c.wantNoneTwice("second")
		if s := b.status("second"); s.Missed == 0 || c.at(s.Last.Tick) != "20m0s" {
			t.Errorf("%+v", s)
		}
		if s := b.status("third"); !s.DataLost.IsZero() { // the file has all of it
			t.Errorf("%+v", s)
		}
		if lines := b.logs.FilterMessage(lostLine).All(); len(lines) != 1 || lines[0].ContextMap()["known_only_here"] != int64(2) {
			t.Errorf("logged %v", lines)
		}
	})
}

// A leader without the job forgets it while another process still has it, and the nodes restart with their data: nothing is lost.
func TestFollow_AForgottenJob(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.replica("b")
		addBoth(a, b, "0 * * * * *", quick)
		c.SleepTo(70 * time.Second)
		c.must(a.Pause(t.Context(), "job"))
		time.Sleep(10 * time.Minute) // b reads it
		c.must(a.Remove("job"))
		time.Sleep(10 * time.Second)
		c.must(a.Forget(t.Context(), "job"))
		for i := range 3 {
			c.Restart(i)
			time.Sleep(time.Minute)
		}
		time.Sleep(10 * time.Minute)
		a.leaves()
		b.leads()
		time.Sleep(3 * time.Minute)
		if s := b.status("job"); s.Paused {
			t.Errorf("the pause of the forgotten job is back: %+v", s)
		}
	})
}
