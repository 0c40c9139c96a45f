package scheduler_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The leader first writes the starts that are due, and only then which runs have ended.
func TestLedger_EndsWaitWhileMoreIsDueThanOneCallAsksFor(t *testing.T) {
	long(t)
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		var mu sync.Mutex
		var ended []time.Time
		a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{Finished: func(scheduler.Record) {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, time.Now())
		}}))
		const all = 4*jobstore.MaxJobs + 1
		var jobs []scheduler.Job
		for i := range all {
			jobs = append(jobs, a.job(fmt.Sprint("job ", i), "0 * * * * *", quick))
		}
		a.add(jobs...)
		c.SleepTo(50 * time.Second)
		a.links.Delay(10 * time.Millisecond)
		c.SleepTo(61 * time.Second)

		runs := c.records()
		mu.Lock()
		defer mu.Unlock()
		if len(runs) != all || len(ended) != all {
			t.Fatalf("%d runs, of which %d have ended, want %d", len(runs), len(ended), all)
		}
		if fourth := runs[3*jobstore.MaxJobs].start; ended[0].Before(fourth) {
			t.Errorf("an end was stored at %s, before the runs of the fourth call started at %s",
				c.at(ended[0]), c.at(fourth))
		}
	})
}

func TestHistory_HasNoMoreThanIsSaid(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", quick))
		for s := 52; s < 64; s++ { // a node drops old rows when it has more than 60
			c.SleepTo(time.Duration(s)*time.Second + 500*time.Millisecond)
			history, err := a.History(t.Context(), "job", 1000)
			if err != nil || len(history) > 50 {
				t.Fatalf("%d records, %v", len(history), err)
			}
		}
	})
}
