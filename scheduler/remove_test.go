package scheduler_test

import (
	"errors"
	"testing"
	"time"
)

// A job is removed while a write opens its tick.
func TestRemove_WhileItsTickIsBeingClaimed(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "*/10 * * * * *", quick))
		a.links.Delay(30 * time.Millisecond)
		c.SleepTo(20010 * time.Millisecond) // no node has stored the tick of 20 s yet
		c.must(a.Remove("job"))
		removed := now()
		c.SleepTo(25 * time.Second)
		for _, run := range c.records() {
			if run.start.After(removed) {
				t.Errorf("%s started at %s, after it was removed", c.at(run.Tick), c.at(run.start))
			}
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
