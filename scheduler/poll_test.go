package scheduler_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/scheduler"
)

// A node loses its state, and the one write that would bring the job back to it is lost. Minutes later another node restarts, as
// the documentation allows.
func TestPoll_ANodeThatMissedTheRewriteGetsTheJobAgain(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		var dataLost atomic.Int64
		a := c.leader("a")
		b := c.idle("b", scheduler.WithHooks(scheduler.Hooks{DataLost: func(string) { dataLost.Add(1) }}))
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "@hourly", quick), r.job("other", "*/10 * * * * *", quick))
		}
		c.SleepTo(20 * time.Second)
		var lost atomic.Int64
		c.Wipe(0)
		_, err := c.Node(0).ZAdd("{redlock}:names:x", 0, "other") // without any name, it would ask for a new ballot and so for all jobs
		c.must(err)
		c.SetPreHook(0, func(p *server.Peer, command string, args ...string) bool {
			if isAbout("job", command, args) && c.At(now()) < time.Minute {
				lost.Add(1)
				p.WriteError("LOADING Redis is loading the dataset in memory")
				return true
			}
			return false
		})
		c.SleepTo(5 * time.Minute)
		c.SetPreHook(0, nil)
		if lost.Load() == 0 {
			t.Fatal("no write was lost")
		}
		if c.Node(0).HGet("{redlock}:jobs:x", "job") == "" {
			t.Error("five minutes later the node does not know the job")
		}
		a.links.Cut() // the next node restarts while the leader is replaced
		c.Wipe(1)
		b.takesOver()
		c.SleepTo(6 * time.Minute)
		if n := dataLost.Load(); n > 0 || !b.status("job").DataLost.IsZero() {
			t.Errorf("a majority has lost the job (reported %d times), though one node of three lost its state at a time", n)
		}
	})
}

// One node, or all nodes, lose the key with the names of the jobs, as by an eviction. Ticks go on, but the jobs are not listed
// until the leader has written them again.
func TestPoll_JobsAreListedAlthoughTheirNamesWereEvicted(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "*/10 * * * * *", quick))
		c.SleepTo(15 * time.Second)
		for i := range 3 {
			c.Node(i).Del("{redlock}:names:x")
		}
		c.SleepTo(5 * time.Minute)
		all, err := a.Jobs(t.Context())
		if err != nil || !slices.ContainsFunc(all, func(s scheduler.Status) bool { return s.Job == "job" }) {
			t.Errorf("%d runs, and Jobs returns %v, %v", len(c.records()), all, err)
		}
	})
}

// The numbers of writes under one ballot have a fixed width. Before it is used up, the leader takes another ballot.
func TestLoop_TakesALargerBallotBeforeTheNumbersOfItsWritesRunOut(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.SetMaxSeq(10)
		var mu sync.Mutex
		numbers, ballots := make(map[string]bool), make(map[string]bool)
		c.SetPreHook(0, func(_ *server.Peer, command string, args ...string) bool {
			if isAbout("job", command, args) {
				mu.Lock()
				defer mu.Unlock()
				at := slices.Index(args, "j:x") // the ballot and the number follow it
				ballots[args[at+1]], numbers[args[at+2]] = true, true
			}
			return false
		})
		a.add(a.job("job", "* * * * * *", quick))
		c.SleepTo(30500 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if len(ballots) < 5 || len(numbers) > 12 {
			t.Errorf("it wrote with %d ballots, and numbers to %d", len(ballots), len(numbers))
		}
		if ran := len(c.ran()); ran < 29 {
			t.Errorf("%d ticks of 30 ran", ran)
		}
	})
}
