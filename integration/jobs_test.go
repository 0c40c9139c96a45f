//go:build unix

package integration_test

import (
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/scheduler"
)

// observe makes a replica in this process that has no job and never campaigns. It is closed after the test.
func (c *cluster) observe() *scheduler.Scheduler {
	c.t.Helper()
	e, err := election.New(c.locker(), c.Election)
	must(c.t, err)
	s, err := scheduler.New(e)
	must(c.t, err)
	return s
}

// stored waits until a node has stored a tick later than since. If the node had lost its state, this shows that a
// leader has written to it again.
func (c *cluster) stored(node int, since time.Time) {
	c.t.Helper()
	server := admins(c.t, c.nodes.Addrs())[node]
	poll(c.t, fmt.Sprintf("write to node %d", node), func() bool {
		return records.Default.Mark(c.t, c.Election, jobName, server).After(since)
	})
}

// allStore waits until a replica leads and all nodes have stored the first tick that it ran, or a later one. It returns
// the event of that first tick.
func (c *cluster) allStore() integration.Event {
	c.t.Helper()
	leader := c.leader()
	for i := range c.nodes.Addrs() {
		c.stored(i, leader.Tick.Add(-1))
	}
	return leader
}

// runsOf counts how often each tick has started to run.
func runsOf(events []integration.Event) (runs map[time.Time]int, first, last time.Time) {
	runs = make(map[time.Time]int)
	for _, e := range events {
		if e.Kind != integration.RunBegin {
			continue
		}
		runs[e.Tick]++
		if first.IsZero() || e.Tick.Before(first) {
			first = e.Tick
		}
		if e.Tick.After(last) {
			last = e.Tick
		}
	}
	return runs, first, last
}

// wantEachTick checks that each tick from the first to the last that ran has run once.
func (c *cluster) wantEachTick() {
	c.t.Helper()
	events, _ := c.reported(0)
	runs, first, last := runsOf(events)
	for tick := first; !tick.After(last); tick = tick.Add(tickEvery) {
		if runs[tick] != 1 {
			c.t.Errorf("%v ran %d times", tick, runs[tick])
		}
		delete(runs, tick)
	}
	for tick := range runs {
		c.t.Errorf("%v ran, which is no tick", tick)
	}
	c.t.Logf("ticks from %v to %v", first, last)
}

// ranAfter waits until a tick after that one has been run.
func (c *cluster) ranAfter(tick time.Time) integration.Event {
	c.t.Helper()
	return c.await("run of a later tick", func(e integration.Event) bool {
		return e.Kind == integration.RunEnd && e.Tick.After(tick)
	})
}
