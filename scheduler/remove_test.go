package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// A job is removed while a write opens its tick.
func TestRemove_WhileItsTickIsBeingClaimed(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "*/10 * * * * *", quick))
		a.links.Delay(30 * time.Millisecond)
		c.SleepTo(20010 * time.Millisecond) // no node has stored the tick of 20 s yet
		if err := a.Remove("job"); err != nil {
			t.Fatal(err)
		}
		removed := now()
		c.SleepTo(25 * time.Second)
		for _, run := range c.records() {
			if run.start.After(removed) {
				t.Errorf("%s started at %s, after it was removed", c.at(run.Tick), c.at(run.start))
			}
		}
	})
}

// The job is replaced by another one of the same name, whose ticks wait for runs to return.
func TestRemove_ARunThatBeginsMeanwhileCountsForTheOverlap(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		first := a.job("job", "*/10 * * * * *", func(_ context.Context, call int) error {
			if call > 1 {
				time.Sleep(15 * time.Second)
			}
			return nil
		})
		a.add(first)
		c.SleepTo(19 * time.Second)
		a.links.Delay(30 * time.Millisecond)
		c.SleepTo(20010 * time.Millisecond)
		if err := a.Remove("job"); err != nil {
			t.Fatal(err)
		}
		second := a.job("job", "*/10 * * * * *", lasting(time.Second))
		second.Overlap = scheduler.Queue
		a.add(second)
		c.SleepTo(45 * time.Second)
		var returned time.Time
		for _, run := range c.records() {
			if run.start.Before(returned) {
				t.Errorf("%s began at %s, when another one ran until %s", c.at(run.Tick), c.at(run.start), c.at(returned))
			}
			returned = run.end
		}
	})
}

// Lets the race detector find a call to the nodes that reads a job while the loop replaces it.
func TestRemove_AJobIsReplacedWhileItIsPrepared(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("other", "@hourly", quick))
		c.SleepTo(5 * time.Second)
		for range 20 {
			a.links.Hang()
			a.add(a.job("job", "@hourly", quick))
			time.Sleep(20 * time.Millisecond)
			err := a.Remove("job")
			a.add(a.job("job", "@hourly", quick))
			time.Sleep(20 * time.Millisecond)
			a.links.Heal()
			time.Sleep(2 * time.Second)
			if err = errors.Join(err, a.Remove("job")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
	})
}
