package scheduler_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Who asks for a manual run is far from two of the nodes: the leader has claimed it before they hear of it.
func TestTrigger_FromFarAwayIsOneRun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@every 24h", quick))
		c.SleepTo(time.Minute)
		b.status("job") // it is connected
		b.links.Delay(10*time.Millisecond, 1, 2)
		if err := b.Trigger(t.Context(), "job"); err != nil {
			t.Error(err)
		}
		c.SleepTo(2 * time.Minute)
		if ran := c.ran(); len(ran) != 1 {
			t.Errorf("ran %v", ran)
		}
	})
}

// A person asks for a run of each of many jobs, at once. The leader hears of all.
func TestTrigger_OfVeryManyJobsAtOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		const jobs = 150 // more than a node tells of at first
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

// One node's clock is an hour ahead, always. What a person asks for does not have to wait for the others.
func TestControl_WithANodeWhoseClockIsAhead(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.Offset(1, time.Hour)
		a := c.leader("a")
		a.add(a.job("job", "@every 10s", quick), a.job("other", "@every 10s", quick))
		c.Delay(2*time.Millisecond, 2) // so that node 1 is among those that answer first
		c.SleepTo(65 * time.Second)
		if err := a.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		if err := a.Pause(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(95 * time.Second)
		if err := a.Resume(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
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

// The same of a job that the nodes have met since.
func TestTrigger_WithANodeWhoseClockWasAheadWhenTheJobWasNew(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.Offset(1, time.Hour)
		a := c.leader("a")
		a.add(a.job("new", "@every 10s", quick))
		c.Delay(2*time.Millisecond, 2)
		c.SleepTo(65 * time.Second)
		if err := a.Trigger(t.Context(), "new"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(125 * time.Second)
		if ran := len(c.records()); ran != 13 {
			t.Errorf("ran %v", c.ran())
		}
	})
}
