package scheduler_test

import (
	"testing"
	"time"
)

func TestHistory_HasNoMoreThanIsSaid(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", quick))
		for s := 55; s < 75; s++ {
			c.sleepTo(time.Duration(s)*time.Second + 500*time.Millisecond)
			history, err := a.History(t.Context(), "job", 1000)
			if err != nil || len(history) > 50 || len(a.status("job").Records) > 50 {
				t.Fatalf("%d records, %v", len(history), err)
			}
		}
	})
}
