package scheduler_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/scheduler"
)

// A majority of the old list of nodes knows that a tick has started, and has a pause that nobody has applied yet. They are a minority
// of the new list. Its first leader neither runs the tick again nor loses the pause, although it knows of both from nobody else.
func TestLists_WhatWasDecidedInTheOldOneHolds(t *testing.T) {
	for name, of := range map[string]struct{ old, cut, next []int }{
		"from one to three":  {[]int{0}, nil, []int{0, 1, 2}},
		"from three to five": {[]int{0, 1, 2}, []int{0}, []int{0, 1, 2, 3, 4}},
		"from five to three": {[]int{0, 1, 2, 3, 4}, []int{0, 1}, []int{0, 1, 2}},
		"one is replaced":    {[]int{0, 1, 2}, []int{0}, []int{0, 1, 3}},
		"two are replaced":   {[]int{0, 1, 2, 3, 4}, []int{0, 1}, []int{0, 1, 2, 5, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.RunFresh(t, 7, func(t *testing.T, nodes *bubble.Cluster) {
				c := &cluster{Cluster: nodes, ttl: ttl}
				replica := func(id string, list []int) *replica {
					r := c.idleOf(id, list)
					for _, name := range []string{"job", "other"} {
						job := r.job(name, "0 * * * * *", quick)
						job.CatchUp = scheduler.CatchUpAll(time.Hour)
						r.add(job)
					}
					return r
				}
				a, asks := replica("a", of.old), replica("asks", of.old)
				a.campaign()
				a.leads()
				c.SleepTo(50 * time.Second)
				for _, node := range of.cut {
					a.links.Cut(node)
					asks.links.Cut(node)
				}
				c.SleepTo(60 * time.Second) // both jobs have their tick
				a.links.Cut()
				c.must(asks.Pause(t.Context(), "other"))
				asks.links.Cut()
				b := replica("b", of.next)
				b.takesOver()
				c.SleepTo(150 * time.Second)
				wantEqual(t, "ran", c.ran(), []string{"job 1m0s@1m0s", "other 1m0s@1m0s", "job 2m0s@2m0s"})
				if !b.status("other").Paused {
					t.Error("the pause was lost")
				}
			})
		})
	}
}
