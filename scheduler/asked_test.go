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
