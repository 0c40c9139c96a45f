package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
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
				c.decideWithout(of.old, of.cut)
				b := c.withBoth("b", of.next)
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

// withBoth returns a replica with two jobs and a list of some nodes.
func (c *cluster) withBoth(id string, list []int) *replica {
	r := c.idleOf(id, list)
	for _, name := range []string{"job", "other"} {
		job := r.job(name, "0 * * * * *", quick)
		job.CatchUp = scheduler.CatchUpAll(time.Hour)
		r.add(job)
	}
	return r
}

// decideWithout has a leader of a list of nodes start a tick of both jobs at 1m, and somebody pause one of them, without some of the nodes.
func (c *cluster) decideWithout(list, cut []int) {
	a, asks := c.withBoth("a", list), c.withBoth("asks", list)
	a.takesOver()
	c.SleepTo(50 * time.Second)
	for _, node := range cut {
		a.links.Cut(node)
		asks.links.Cut(node)
	}
	c.SleepTo(60 * time.Second)
	a.links.Cut()
	c.must(asks.Pause(c.T.Context(), "other"))
	asks.links.Cut()
}

// uses has a process without jobs use a list of nodes, unless it is empty.
func (c *cluster) uses(list []int) {
	c.T.Helper()
	if len(list) == 0 {
		return
	}
	l, _ := c.LockerOf(list)
	lease, err := l.Acquire(c.T.Context(), "z")
	c.must(err)
	want.NoError(c.T, lease.Release(c.T.Context()), l.Close(c.T.Context()))
}

// The list changes twice, and only a process without jobs uses the second list. The third one waits until a replica with the second list
// has led, unless it has a majority of the first one. What a majority of the first one knows holds.
func TestLists_WhatWasDecidedTwoListsAgoHolds(t *testing.T) {
	for name, of := range map[string]struct {
		old, cut, second, third []int
		waits                   bool
	}{
		"five, three, three":        {[]int{0, 1, 2, 3, 4}, []int{3, 4}, []int{2, 3, 4}, []int{3, 4, 5}, true},
		"three, five, three":        {[]int{0, 1, 2}, []int{2}, []int{0, 1, 2, 3, 4}, []int{2, 3, 4}, true},
		"one after the other":       {[]int{0, 1, 2}, []int{2}, []int{0, 2, 3}, []int{2, 3, 4}, true},
		"one, three, without it":    {[]int{0}, nil, []int{0, 1, 2}, []int{1, 2, 3}, true},
		"three, five, without them": {[]int{0, 1, 2}, []int{2}, []int{0, 2, 3, 4, 5}, []int{3, 4, 5}, true},
		"rolled back":               {[]int{0, 1, 2}, []int{2}, []int{0, 1, 2, 3, 4}, []int{0, 1, 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.RunFresh(t, 6, func(t *testing.T, nodes *bubble.Cluster) {
				c := &cluster{Cluster: nodes, ttl: ttl}
				c.decideWithout(of.old, of.cut)
				c.uses(of.second)
				if of.waits {
					time.Sleep(2 * ttl)
					early, _ := c.LockerOf(of.third)
					_, err := early.TryAcquire(t.Context(), "z")
					want.Text(t, err, `nobody has led election "x"`)
					m := c.withBoth("m", of.second)
					m.takesOver()
					time.Sleep(ttl)
					m.leaves()
				}
				b := c.withBoth("b", of.third)
				b.takesOver()
				time.Sleep(2 * time.Minute)
				if !b.status("other").Paused {
					t.Error("the pause was lost")
				}
				ran := strings.Join(c.ran(), ", ")
				if strings.Count(ran, "job 1m0s@") != 1 || strings.Count(ran, "other") != 1 {
					t.Errorf("ran: %s", ran)
				}
			})
		})
	}
}

// A tick falls into a change of the list. Nobody has lost anything, so the first leader of the new list runs it, and reports no loss.
func TestLists_ATickDuringTheChangeRuns(t *testing.T) {
	for name, of := range map[string]struct{ old, between, next []int }{
		"from one to three":  {[]int{0}, nil, []int{0, 1, 2}},
		"from three to five": {[]int{0, 1, 2}, nil, []int{0, 1, 2, 3, 4}},
		"from five to three": {[]int{0, 1, 2, 3, 4}, nil, []int{0, 1, 2}},
		"one is replaced":    {[]int{0, 1, 2}, nil, []int{0, 1, 3}},
		"twice":              {[]int{0}, []int{0, 1, 2}, []int{0, 1, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.RunFresh(t, 5, func(t *testing.T, nodes *bubble.Cluster) {
				c := &cluster{Cluster: nodes, ttl: ttl}
				a := c.idleOf("a", of.old)
				a.add(a.job("job", "0 * * * * *", quick))
				a.takesOver()
				c.SleepTo(115 * time.Second)
				a.leaves()
				c.uses(of.between)
				b := c.idleOf("b", of.next)
				b.add(b.job("job", "0 * * * * *", quick))
				b.takesOver()
				c.SleepTo(175 * time.Second)
				if ran := strings.Join(c.ran(), ", "); strings.Count(ran, "job 1m0s@") != 1 || strings.Count(ran, "job 2m0s@") != 1 {
					t.Errorf("ran: %s; recorded: %q", ran, b.rows("job"))
				}
				if lost := b.status("job").DataLost; !lost.IsZero() {
					t.Errorf("the nodes are said to have lost the job at %v", lost)
				}
			})
		})
	}
}

// All nodes' clocks are set back when the list changes, by an hour. The old nodes, which are a minority, know of a tick and of a pause from
// the future.
func TestLists_TheClocksAreSetBackMeanwhile(t *testing.T) {
	for name, of := range map[string]struct{ old, cut, next []int }{
		"from one to three":  {[]int{0}, nil, []int{0, 1, 2}},
		"from three to five": {[]int{0, 1, 2}, []int{0}, []int{0, 1, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.RunFresh(t, 5, func(t *testing.T, nodes *bubble.Cluster) {
				c := &cluster{Cluster: nodes, ttl: ttl}
				c.decideWithout(of.old, of.cut)
				for i := range 5 {
					c.Jump(i, -time.Hour)
				}
				b := c.withBoth("b", of.next)
				b.takesOver()
				time.Sleep(70 * time.Minute)
				if s := b.status("other"); !s.Paused {
					t.Errorf("the pause was lost: %+v", s)
				}
				ran := strings.Join(c.ran(), ", ")
				if strings.Count(ran, "job 1m0s@") != 1 || strings.Count(ran, "job 2m0s@") != 1 || strings.Count(ran, "other") != 1 {
					t.Errorf("ran: %s", ran)
				}
			})
		})
	}
}

// Two of three nodes lose their data together, and with them a tick that only they knew. The new list of these servers does not run it
// again, although they are as new as those of a list that grows.
func TestLists_ServersInThePlaceOfThoseThatLostTheirDataAreNotNew(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, nodes *bubble.Cluster) {
		c := &cluster{Cluster: nodes, ttl: ttl}
		all := []int{0, 1, 2}
		c.decideWithout(all, []int{0})
		for _, node := range []int{1, 2} {
			c.Kill(node)
			c.Wipe(node)
			c.Restart(node)
		}
		b := c.withBoth("b", all)
		b.takesOver()
		c.SleepTo(150 * time.Second)
		if ran := strings.Join(c.ran(), ", "); strings.Count(ran, "job 1m0s@") != 1 {
			t.Errorf("ran: %s", ran)
		}
	})
}

// One of three nodes is down for good, and another has lost its data. When a person has accepted the list, somebody leads, and jobs run.
func TestLists_APersonAcceptsAListWithADeadNode(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, nodes *bubble.Cluster) {
		c := &cluster{Cluster: nodes, ttl: ttl}
		a := c.withBoth("a", []int{0, 1, 2})
		a.takesOver()
		c.SleepTo(70 * time.Second)
		c.Kill(2)
		c.Kill(1)
		c.Wipe(1)
		c.Restart(1)
		c.SleepTo(200 * time.Second)
		if a.elector.IsLeader() {
			t.Error("somebody leads on one node of three")
		}
		want.NoError(t, inside.Of(a.elector.Locker()).JoinNodes(t.Context())[:2]...)
		c.SleepTo(400 * time.Second)
		if ran := strings.Join(c.ran(), ", "); !strings.Contains(ran, "other 6m0s@6m0s") {
			t.Errorf("ran: %s", ran)
		}
	})
}
