//go:build unix

package integration_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
)

// elections is the number of elections in parallel on the same nodes, each with its own replicas and links.
const elections = 3

var falls = flag.Int("falls", len(ways), "how many leaders of each election fall, by each kind of fault in turn")

// Leaders fall one after another, through every kind of fault, while minorities of nodes fail and come back.
func TestTransitions_NeverOverlap(t *testing.T) {
	oneOfMany(t)
	seed, began := newSeed(t), time.Now()
	nodes := startNodes(t, nodeCount, persist...)
	watching := watchNodes(t, nodes, shortTTL)
	all := tally{fell: make(map[string]int), margin: make(map[string]time.Duration)}
	var broken outages
	var plans [elections][]fall

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var breaking, leading sync.WaitGroup
	breaking.Go(func() { // ends with ctx
		t.Run("nodes", func(t *testing.T) {
			broken.play(ctx, t, nodes, rand.New(rand.NewPCG(seed, elections)))
		})
	})
	for i := range plans {
		plans[i] = newFalls(rand.New(rand.NewPCG(seed, uint64(i))), *falls)
		leading.Go(func() { // ends with its plan
			t.Run(fmt.Sprint("election ", i), func(t *testing.T) {
				s := defaults
				s.Election, s.TTL = fmt.Sprint("jobs", i), shortTTL
				c := &contest{broken: &broken, all: &all}
				c.cluster = startLinked(t, nodes, nodeCount, s)
				c.play(plans[i])
			})
		})
	}
	leading.Wait()
	stop()
	breaking.Wait()
	watching.end(t, func() {
		for _, e := range all.started {
			watching.Started(e.election, e.Job, e.Tick.UnixMilli(), 1, e.RunToken)
		}
	})

	t.Logf("%d transitions in %v, %d of them while nodes were down, in %d outages",
		all.transitions, time.Since(began), all.short, len(broken.made))
	t.Logf("leaders fell: %v; by itself, and before its fall: %d", all.fell, all.early)
	t.Logf("from the end of a term that was lost to the next one, at least: %v", all.margin)
	for _, how := range ways {
		if n := *falls / len(ways) * elections; all.fell[how] < n {
			t.Errorf("%d leaders fell by %s, want %d", all.fell[how], how, n)
		}
	}
	if n := *falls * elections; all.transitions < n || all.short < n/10 {
		t.Errorf("%d transitions, %d while nodes were down, want %d and %d", all.transitions, all.short, n, n/10)
	}
	if t.Failed() {
		t.Logf("plans: %q\noutages: %q", plans, broken.made)
	}
}

// tally is what happened in all elections.
type tally struct {
	mu          sync.Mutex // guards the fields below
	transitions int
	short       int                      // of these, while nodes were down
	early       int                      // of these, before the leader was made to fall
	fell        map[string]int           // by how
	margin      map[string]time.Duration // the least, by how
	started     []started
}

// started is the start of a run.
type started struct {
	election string
	integration.Event
}

// contest is one of the elections.
type contest struct {
	*cluster
	broken *outages
	all    *tally
	newest time.Duration // when the newest known term started
}

// play makes one leader after another fall. A leader that fell on its own does not count.
func (c *contest) play(plan []fall) {
	early := 0
	for _, f := range plan {
		for !c.topple(f) {
			if early++; early > len(plan) {
				c.t.Fatalf("%d leaders fell by themselves", early)
			}
		}
	}
	terms := make(map[time.Duration]bool)
	events, _ := c.reported(0)
	for _, e := range events {
		if e.Kind == integration.LeadBegin {
			terms[e.Since] = true
		}
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	for _, e := range events {
		if e.Kind == integration.RunBegin {
			c.all.started = append(c.all.started, started{c.Election, e})
		}
	}
	c.all.transitions += len(terms) - 1
	c.all.early += early
}

// topple makes the newest leader fall and waits for the next. It returns false if the leader had fallen on its own.
func (c *contest) topple(f fall) bool {
	leader := c.ripe(f)
	old, links, short := c.replicas[leader.Replica], c.links[leader.Replica], c.broken.away.Load()
	fell := shared.now()
	f.begin(old, links)
	if f.how == "kill" || f.how == "terminate" {
		c.restart(old)
	}
	next := c.next(leader.Since)
	f.end(old, links)
	c.newest = next.Since

	if f.how != "kill" {
		c.inTerm(integration.LeadDone, leader)
	}
	deadline, done := c.endOf(leader)
	if done > 0 && done < fell {
		return false
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.fell[f.how]++
	if short {
		c.all.short++
	}
	if f.how == "terminate" {
		return true // the lease was not lost; the history is checked at the end
	}

	// A process that was killed or stopped could not log when its context was done. A process that was cut off does,
	// and after its callback has returned it releases the lease on the nodes that it reaches. Together with nodes
	// that lost the lease, these may be enough for the next leader.
	how, end := f.how, deadline
	if f.links != nil {
		end = done
		if next.Since < deadline+c.margin() {
			how = "given back"
		}
	}
	margin := next.Since - end
	if least, known := c.all.margin[how]; !known || margin < least {
		c.all.margin[how] = margin
	}
	if margin <= 0 || f.links != nil && done > deadline+c.margin() {
		c.t.Errorf("%v: the context was done %v after the stop deadline, the next term began %v after "+
			"that:\n%+v\n%+v", f, end-deadline, margin, leader, next)
	}
	return true
}

// ripe waits until the newest leader has checked its term often enough, and returns the event of the term's start. If
// the leader will be stopped, ripe also waits for the end of a run, because the next run is then some time away. A
// process that is stopped between the check of its term and the start of a run would start that run when it wakes.
func (c *contest) ripe(f fall) (leader integration.Event) {
	looks := 0
	c.await("leader that may fall", func(e integration.Event) bool {
		if e.Kind == integration.LeadBegin && e.Since >= max(c.newest, leader.Since+1) {
			leader, looks = e, 0
		}
		if e.Since != leader.Since || leader.Since == 0 {
			return false
		}
		if e.Kind == integration.Sample {
			looks++
		}
		justRan := e.Kind == integration.RunEnd && shared.now()-e.At < runFor
		return looks >= f.looks && (justRan || f.how != "stop")
	})
	return leader
}
