package scheduler_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// rows returns the rows of a job's history, the oldest first.
func (r *replica) rows(job string) (rows []string) {
	r.c.T.Helper()
	history, err := r.History(r.c.T.Context(), job, 50)
	want.NoError(r.c.T, err)
	for _, record := range history {
		rows = append([]string{r.c.row(record)}, rows...)
	}
	return rows
}

// deaf makes the nodes refuse subscriptions, so that leaders learn of requests by polling only.
func (c *cluster) deaf(nodes int) {
	for node := range nodes {
		c.Deny(node, "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE")
	}
}

// leadsWithoutTheJob makes a replica of an older version lead for half a minute.
func (c *cluster) leadsWithoutTheJob() {
	older := c.idle("older")
	older.add(older.job("other", "@yearly", quick))
	older.takesOver()
	time.Sleep(30 * time.Second)
	older.leaves()
}

// asksForARun has the verbs that ask for one more run of the job, of which the tick at 1 min has run.
var asksForARun = map[string]func(c *cluster, p *replica) error{
	"trigger": func(c *cluster, p *replica) error { return p.Trigger(c.T.Context(), "job") },
	"rerun":   func(c *cluster, p *replica) error { return p.Rerun(c.T.Context(), "job", c.instant(time.Minute)) },
}

// A majority has stored a request, and nobody leads. One node loses its data before the next leader leads.
func TestVerbs_ARequestOutlivesOneNode(t *testing.T) {
	for what, ask := range asksForARun {
		t.Run(what, func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
				addBoth(a, b, "0 1 0 * * *", quick)
				c.SleepTo(2 * time.Minute)
				a.leaves()
				p.links.Cut(2)
				c.must(ask(c, p))
				c.Wipe(1)
				c.leadsWithoutTheJob()
				c.SleepTo(4 * time.Minute)
				b.takesOver()
				c.SleepTo(10 * time.Minute)
				if n := len(c.records()); n != 2 {
					t.Errorf("ran %v", c.ran())
				}
			})
		})
	}
	t.Run("cancel", func(t *testing.T) {
		withShortLeases(t, 3, func(t *testing.T, c *cluster) {
			a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
			addBoth(a, b, "0 1 0 * * *", untilDone(0), atLeastOnce)
			c.SleepTo(70 * time.Second)
			a.links.Cut() // a dies
			c.SleepTo(85 * time.Second)
			p.links.Cut(2)
			c.must(p.Cancel(t.Context(), "job"))
			c.Wipe(1)
			c.leadsWithoutTheJob()
			c.SleepTo(4 * time.Minute)
			b.takesOver()
			c.SleepTo(10 * time.Minute)
			if rows := b.rows("job"); len(c.records()) != 1 || !strings.HasPrefix(rows[len(rows)-1], "1m0s canceled") {
				t.Errorf("ran %v, recorded %q", c.ran(), rows)
			}
		})
	})
}

// The leader has a request only by a poll, and a node loses its data in the same moment.
func TestVerbs_ARequestOutlivesOneNodeWhileSomebodyLeads(t *testing.T) {
	for what, ask := range asksForARun {
		t.Run(what, func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				c.deaf(3)
				a, p := c.leader("a"), c.idle("p")
				a.add(a.job("job", "0 1 0 * * *", quick), a.job("other", "*/2 * * * * *", quick))
				c.SleepTo(121 * time.Second)
				p.links.Cut(2)
				c.must(ask(c, p))
				c.Wipe(1)
				c.SleepTo(10 * time.Minute)
				if n := c.runsOf("job"); n != 2 {
					t.Errorf("ran %d times", n)
				}
			})
		})
	}
}

// Two requests are made before the run starts, and the leader learns of the second one after the run has ended.
func TestVerbs_RequestsBeforeTheRunStartsMakeOneRun(t *testing.T) {
	for what, ask := range asksForARun {
		t.Run(what, func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				c.deaf(3)
				a, p := c.leader("a"), c.idle("p")
				a.add(func() scheduler.Job {
					job := a.job("job", "0 1,2 0 * * *", func(_ context.Context, call int) error {
						if call == 2 {
							time.Sleep(30 * time.Second)
						}
						return nil
					})
					job.Overlap = scheduler.Queue
					return job
				}())
				c.SleepTo(2*time.Minute + 10*time.Second)
				c.must(ask(c, p))
				c.SleepTo(2*time.Minute + 29900*time.Millisecond)
				c.must(ask(c, p)) // the run starts at 2m30s
				c.SleepTo(10 * time.Minute)
				if n := len(c.records()); n != 3 {
					t.Errorf("ran %v", c.ran())
				}
			})
		})
	}
}

// deadly makes two leaders die during the run of 1m, and returns the third one, which waits with the repeat. pause is that wait.
func (c *cluster) deadly(pause time.Duration) (third, other *replica) {
	all := []*replica{c.leader("a"), c.idle("b"), c.idle("c")}
	for _, r := range all {
		r.addDeadly("0 1 0 * * *", pause)
	}
	c.SleepTo(61 * time.Second)
	return c.dies(all...)
}

func (r *replica) addDeadly(spec string, pause time.Duration) {
	job := r.job("job", spec, func(ctx context.Context, _ int) error {
		<-ctx.Done()
		return ctx.Err()
	})
	job.AtLeastOnce, job.Retry = true, scheduler.Retry{Wait: pause}
	r.add(job)
}

// dies is the second half of deadly.
func (c *cluster) dies(all ...*replica) (third, other *replica) {
	n := len(c.records())
	all[0].links.Cut()
	all[1].takesOver()
	bubble.Await(c.T, "the first repeat", time.Minute, func() bool { return len(c.records()) > n })
	time.Sleep(time.Second)
	all[1].links.Cut()
	all[2].takesOver()
	p := c.idle("p")
	bubble.Await(c.T, "the wait for the second repeat", time.Minute, func() bool { return strings.HasPrefix(p.status("job").Waiting.What, "for attempt") })
	return all[2], p
}

// keeps makes b take over the job, whose tick of 1m waits for its jitter, with another spec that has that tick as well.
func (c *cluster) keeps(change func(*scheduler.Job)) (b *replica, next func(id, spec string) *replica, start time.Duration) {
	next = func(id, spec string) *replica {
		r := c.idle(id)
		job := r.job("job", spec, quick)
		job.Jitter = 10 * time.Minute
		change(&job)
		r.add(job)
		return r
	}
	a := next("a", "0 1 0 * * *")
	a.takesOver()
	c.SleepTo(61 * time.Second)
	start = c.At(a.status("job").Waiting.Until)
	a.leaves()
	b = next("b", "0 1 0,12 * * *")
	b.takesOver()
	time.Sleep(time.Second)
	if start < 70*time.Second || c.At(now()) > start || len(c.records()) > 0 {
		c.T.Fatalf("the run begins at %v", start)
	}
	return b, next, start
}

// withLongMaxTTL is withShortLeases where other locks of the prefix may be held for 15 minutes, so that leaders poll every five.
func withLongMaxTTL(t *testing.T, test func(t *testing.T, c *cluster)) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, 3, func(t *testing.T, nodes *bubble.Cluster) {
		test(t, &cluster{Cluster: nodes, ttl: ttl})
	}, redlock.WithMaxTTL(15*time.Minute))
}

// A waiting run ends with the removal of its job, as its caller is told.
func TestVerbs_ARequestEndsWithTheRemoval(t *testing.T) {
	for what, ask := range map[string]func(ctx context.Context, c *cluster, p *replica) error{
		"trigger": func(ctx context.Context, c *cluster, p *replica) error {
			_, err := p.TriggerAndWait(ctx, "job")
			return err
		},
		"rerun": func(ctx context.Context, c *cluster, p *replica) error {
			_, err := p.RerunAndWait(ctx, "job", c.instant(time.Minute))
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, p := c.leader("a"), c.idle("p")
				job := a.job("job", "0 1,2 0 * * *", func(_ context.Context, call int) error {
					if call == 2 {
						time.Sleep(5 * time.Minute)
					}
					return nil
				})
				job.Overlap = scheduler.Queue
				a.add(job)
				c.SleepTo(130 * time.Second)
				time.AfterFunc(10*time.Second, func() { c.must(a.Remove("job")) })
				want.Err(t, ask(t.Context(), c, p), scheduler.ErrUnknownJob)
				c.SleepTo(20 * time.Minute)
				a.add(job)
				c.SleepTo(30 * time.Minute)
				if n := len(c.records()); n != 2 {
					t.Errorf("it ran after the job was added again: %v", c.ran())
				}
			})
		})
	}
}

// The hook reports a cancel once, and the end of a pause with its own time.
func TestVerbs_ChangedHook(t *testing.T) {
	t.Run("cancel", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			var n atomic.Int32
			hooks := scheduler.WithHooks(scheduler.Hooks{Changed: func(scheduler.Change) { n.Add(1) }})
			a, b := c.leader("a", hooks), c.idle("b", hooks)
			addBoth(a, b, "0 1 0 * * *", untilDone(0))
			c.SleepTo(70 * time.Second)
			c.must(b.Cancel(t.Context(), "job"))
			c.SleepTo(80 * time.Second)
			a.leaves()
			b.takesOver()
			c.SleepTo(10 * time.Minute)
			if n.Load() != 1 {
				t.Errorf("reported %d times", n.Load())
			}
		})
	})
	t.Run("the end of a pause", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			changes := make(chan scheduler.Change, 10)
			a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{Changed: func(c scheduler.Change) { changes <- c }}))
			a.add(a.job("job", "@yearly", quick))
			c.SleepTo(10 * time.Second)
			c.must(a.Pause(t.Context(), "job", scheduler.By("ann"), scheduler.Until(c.instant(50*time.Second))))
			c.SleepTo(2 * time.Minute)
			<-changes
			if end := <-changes; end.What != "resume" || !end.At.Equal(c.instant(50*time.Second)) {
				t.Errorf("the hook got %+v", end)
			}
		})
	})
}
