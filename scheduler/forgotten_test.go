package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// Ticks wait for a run to return, and meanwhile two nodes restart, one after the other: admitted again, they vote for
// nothing that is older. What is not run of it is counted and told.
func TestForgotten_TicksThatWaitAreRunOrMissed(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var missed atomic.Int64
		a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{
			Missed: func(_ string, n int, _ string) { missed.Add(int64(n)) },
		}))
		job := a.job("job", "*/10 * * * * *", func(_ context.Context, call int) error {
			if call == 1 {
				time.Sleep(2 * time.Minute)
			}
			return nil
		})
		job.Overlap, job.CatchUp = scheduler.Queue, scheduler.All(time.Hour)
		a.add(job)
		c.sleepTo(20 * time.Second)
		for node := range 2 {
			c.Restart(node)
			time.Sleep(30 * time.Second)
		}
		c.sleepTo(4*time.Minute + 5*time.Second)
		ran := make(map[time.Time]bool)
		for _, run := range c.records() {
			ran[run.Tick] = true
		}
		want := 24 // from 10 s to 4 min
		if got := len(ran) + int(missed.Load()); got != want || a.status("job").Missed != int(missed.Load()) {
			t.Errorf("%d ran, %d were told to be missed, %d counted, want %d in all", len(ran), missed.Load(), a.status("job").Missed, want)
		}
	})
}

// The same of a run by hand.
func TestForgotten_ARunByHandThatWaitsIsRunOrMissed(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var missed atomic.Int64
		a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{
			Missed: func(_ string, n int, _ string) { missed.Add(int64(n)) },
		}))
		job := a.job("job", "@every 24h", lasting(2*time.Minute))
		job.Overlap = scheduler.Queue
		a.add(job)
		for range 2 { // the second waits for the first
			if err := a.Trigger(t.Context(), "job"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		for node := range 2 {
			c.Restart(node)
			time.Sleep(30 * time.Second)
		}
		c.sleepTo(10 * time.Minute)
		if got := len(c.records()) + int(missed.Load()); got != 2 {
			t.Errorf("%d ran, %d were told to be missed, want 2 in all", len(c.records()), missed.Load())
		}
	})
}
