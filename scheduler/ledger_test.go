package scheduler_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The nodes are asked for ticks first, and then told which of the first runs are over.
func TestLedger_EndsWaitWhileMoreIsDueThanOneCallAsksFor(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		var mu sync.Mutex
		var ended []time.Time
		a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{Finished: func(scheduler.Record) {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, time.Now())
		}}))
		const all = 4*register.MaxClaims + 1
		var jobs []scheduler.Job
		for i := range all {
			jobs = append(jobs, a.job(fmt.Sprint("job ", i), "0 * * * * *", quick))
		}
		a.add(jobs...)
		c.sleepTo(50 * time.Second)
		a.process.Delay(10 * time.Millisecond)
		c.sleepTo(61 * time.Second)

		runs := c.records()
		mu.Lock()
		defer mu.Unlock()
		if len(runs) != all || len(ended) != all {
			t.Fatalf("%d runs, of which %d have ended, want %d", len(runs), len(ended), all)
		}
		if fourth := runs[3*register.MaxClaims].start; ended[0].Before(fourth) {
			t.Errorf("a run had ended for the nodes at %s, before those of the fourth call started at %s",
				c.at(ended[0]), c.at(fourth))
		}
	})
}
