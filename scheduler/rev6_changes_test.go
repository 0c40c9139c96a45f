package scheduler_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// A person asks for a run of each of many jobs, at once. The leader hears of all.
func TestTrigger_OfVeryManyJobsAtOnce(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		const jobs = 250
		for i := range jobs {
			a.add(a.job(fmt.Sprint("job", i), "@every 24h", quick))
		}
		c.sleepTo(time.Minute)
		a.process.Delay(5 * time.Millisecond)
		var wg sync.WaitGroup
		for i := range jobs {
			wg.Go(func() {
				if err := b.Trigger(t.Context(), fmt.Sprint("job", i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		c.sleepTo(time.Hour)
		if ran := len(c.records()); ran != jobs {
			t.Errorf("%d of %d ran", ran, jobs)
		}
	})
}
