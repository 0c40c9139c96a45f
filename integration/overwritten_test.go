//go:build unix

package integration_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// The data of one node of five is overwritten while a leader leads, and while the next one takes over. Each way has its
// own election and its own node. Two other nodes answer later than that node, so that its answer is part of every
// majority.
func TestOverwrittenDataOfOneNode_TheOthersGoOn(t *testing.T) {
	oneOfMany(t)
	all := startNodes(t, nodeCount)
	cases := beside{t: t}
	defer cases.Wait()
	for i, how := range records.Overwritten() {
		s := steady()
		s.Election, s.RunFor = fmt.Sprint("jobs", i), 50*time.Millisecond
		cases.run(how.Name, func(t *testing.T) {
			nodes := all
			if how.Shared {
				nodes = startNodes(t, nodeCount)
			}
			goesOn(t, nodes, s, how, i%nodeCount)
		})
	}
}

func goesOn(t *testing.T, nodes *redisproc.Cluster, s settings, how records.Overwriting, overwritten int) {
	const lasts = ttl + tickEvery // without renewals the lease would run out
	c := newCluster(t, nodes, s)
	for _, name := range []string{"a", "b"} {
		c.linked(name, nodeCount)
	}
	leader := c.allStore()
	c.leaseOnAll()
	for _, own := range c.links {
		for slower := 1; slower <= 2; slower++ {
			own[(overwritten+slower)%nodeCount].Delay(50 * time.Millisecond)
		}
	}

	began := shared.now()
	stop := c.overwrite(how, overwritten)
	c.stays(leader, began, lasts)
	c.replicas[leader.Replica].signal(syscall.SIGTERM)
	next := c.next(leader.Since)
	c.stays(next, next.At, 2*tickEvery)
	stop()
	c.ticks(3)
	if at := time.UnixMicro(int64(next.Token)); time.Until(at) > 24*time.Hour { // numbers start from the time, in µs
		t.Errorf("the next token is of %v: one number that is more than a day ahead was believed", at)
	}

	c.wantEachTick(nil)
	c.wantOnTime(began)
	if notRun := c.accounted(c.justRan().Tick); len(notRun) > 0 {
		t.Errorf("%v did not run", notRun)
	}
}

// overwrite overwrites the data of one node ten times a second, until stop is called.
func (c *cluster) overwrite(how records.Overwriting, overwritten int) (stop func()) {
	c.t.Helper()
	subject := records.Subject{
		Prefix: records.Default, Election: c.Election, Job: jobName, Lock: election.LockName(c.Election),
	}
	server := admins(c.t, c.nodes.Addrs())[overwritten]
	poll(c.t, "overwriting", func() bool {
		changed, err := how.Do(c.t.Context(), subject, server)
		must(c.t, err)
		return changed
	})
	ctx, cancel := context.WithCancel(c.t.Context())
	var overwriting sync.WaitGroup
	again := 0
	overwriting.Go(func() { // ends with ctx
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			changed, err := how.Do(c.t.Context(), subject, server)
			if err != nil {
				if ctx.Err() == nil {
					c.t.Error(err)
				}
				return
			}
			if changed {
				again++
			}
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		overwriting.Wait()
		c.t.Logf("it was overwritten %d times again, when the node had written something", again)
	})
	c.t.Cleanup(stop)
	return stop
}

// wantOnTime checks that the runs since then started on time, allowing for a busy machine.
func (c *cluster) wantOnTime(since time.Duration) {
	c.t.Helper()
	events, _ := c.reported(0)
	var latest time.Duration
	for _, e := range events {
		if e.Kind != integration.RunBegin || e.At < since {
			continue
		}
		late := e.At - shared.at(e.Tick)
		if latest = max(latest, late); late > busy {
			c.t.Errorf("%v began %v late", e.Tick, late)
		}
	}
	c.t.Logf("runs began %v late at most", latest)
}
