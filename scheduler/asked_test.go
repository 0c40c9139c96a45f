package scheduler_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Somebody triggers many jobs at once. The leader learns of all of them.
func TestTrigger_OfVeryManyJobsAtOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		const jobs = 150 // more than a node returns in one poll
		for i := range jobs {
			a.add(a.job(fmt.Sprint("job", i), "@every 24h", quick))
		}
		c.SleepTo(time.Minute)
		a.links.Delay(5 * time.Millisecond)
		var wg sync.WaitGroup
		for i := range jobs {
			wg.Go(func() {
				if err := b.Trigger(t.Context(), fmt.Sprint("job", i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		c.SleepTo(2 * time.Minute)
		if ran := len(c.records()); ran != jobs {
			t.Errorf("%d of %d ran", ran, jobs)
		}
	})
}

// One node's clock is always an hour ahead. A trigger or a pause does not wait for the other nodes.
func TestControl_WithANodeWhoseClockIsAhead(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.Offset(1, time.Hour)
		a := c.leader("a")
		a.add(a.job("job", "@every 10s", quick), a.job("other", "@every 10s", quick))
		c.Delay(2*time.Millisecond, 2) // so that node 1 is among those that answer first
		c.SleepTo(65 * time.Second)
		c.must(a.Trigger(t.Context(), "job"))
		c.must(a.Pause(t.Context(), "other"))
		c.SleepTo(95 * time.Second)
		c.must(a.Resume(t.Context(), "other"))
		c.SleepTo(125 * time.Second)
		manual, ticks, others := 0, 0, 0
		for _, run := range c.records() {
			switch {
			case run.Job == "other":
				others++
			case run.Manual:
				manual++
			default:
				ticks++
			}
		}
		if manual != 1 || ticks != 12 || others != 9 {
			t.Errorf("%d manual, want 1; %d ticks, want 12; %d of the one that was resumed, want 9", manual, ticks, others)
		}
		for _, job := range []string{"job", "other"} {
			if s := a.status(job); c.At(s.Next) != 130*time.Second || s.Reason != "" {
				t.Errorf("%s: next %v, reason %q", job, c.at(s.Next), s.Reason)
			}
		}
	})
}
