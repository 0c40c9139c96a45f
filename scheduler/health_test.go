package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

const problemLine = "a problem does not end by itself: somebody must act"

// breakJobs makes all job scripts fail on two of three nodes, and no lock.
func (c *cluster) breakJobs() {
	for node := range 2 {
		c.Node(node).Del(hash)
		_ = c.Node(node).Set(hash, "not a hash")
	}
}

// Each case is a state of a and b in which jobs of a do not run, and that does not end by itself.
func TestProblems(t *testing.T) {
	for name, test := range map[string]struct {
		hooks   scheduler.Hooks // of a
		begin   func(t *testing.T, c *cluster, a, b *replica)
		says    string
		restart bool
		inJobs  bool                                          // Jobs says it of a job that does not tick
		end     func(t *testing.T, c *cluster, a, b *replica) // nil: only a restart ends it
	}{
		"it leads and is shut down": {begin: func(t *testing.T, c *cluster, a, _ *replica) {
			a.add(a.job("other", "*/10 * * * * *", quick))
			a.takesOver()
			time.Sleep(time.Minute)
			c.must(a.Shutdown(t.Context()))
		}, says: "shut down, and this process leads, so no job ticks anywhere", restart: true, inJobs: true},

		"Shutdown waits for a run": {begin: func(_ *testing.T, c *cluster, a, _ *replica) {
			a.add(a.job("other", "*/10 * * * * *", lasting(time.Hour)))
			a.takesOver()
			time.Sleep(20 * time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
			shut := make(chan struct{})
			go func() { // ends with the run; the cleanup waits for it
				defer close(shut)
				_ = a.Shutdown(ctx)
			}()
			c.T.Cleanup(func() { cancel(); <-shut })
		}, says: "while Shutdown waits for other@", inJobs: true},

		"it never gets a ballot": {begin: func(_ *testing.T, c *cluster, a, _ *replica) {
			c.breakJobs()
			a.takesOver()
		}, says: "1 of its 1 jobs do not run: see to the nodes, too few of them serve it: prepare: too few nodes: 1 of 3 nodes, 2 needed", end: mendJobs},

		"its writes find no quorum": {begin: func(_ *testing.T, c *cluster, a, _ *replica) {
			a.add(a.job("other", "*/10 * * * * *", quick))
			a.takesOver()
			time.Sleep(20 * time.Second)
			c.breakJobs()
		}, says: "1 of its 2 jobs do not run: see to the nodes, too few of them store the state of these jobs: ", end: mendJobs},

		"the state of a job cannot be read": {begin: func(_ *testing.T, c *cluster, a, _ *replica) {
			a.add(a.job("other", "*/10 * * * * *", quick))
			for node := range 2 {
				c.Node(node).HSet(hash, "invoices", "x")
			}
			a.takesOver()
		}, says: "1 of its 2 jobs do not run: see to the nodes, too few of them return the state of these jobs: ", end: mendJobs},

		"it has not started a tick": {begin: func(_ *testing.T, _ *cluster, a, _ *replica) {
			a.add(a.job("other", "*/10 * * * * *", quick))
			a.takesOver()
			time.Sleep(20 * time.Second)
			a.ForgetWakes()
		}, says: `1 of 2 jobs have ticks that have not begun, and nothing explains that, such as "other"`, restart: true, inJobs: true},

		"a hook holds up a run": {hooks: scheduler.Hooks{Started: func(scheduler.Run) { time.Sleep(2 * time.Hour) }},
			begin: func(_ *testing.T, _ *cluster, a, _ *replica) {
				a.add(a.job("other", "*/10 * * * * *", quick))
				a.takesOver()
			}, says: "scheduler: a hook or the logger has held up other@", restart: true},

		"a hook holds up the end of a run": {hooks: scheduler.Hooks{Overrun: func(scheduler.Run) { time.Sleep(2 * time.Hour) }},
			begin: func(_ *testing.T, _ *cluster, a, _ *replica) {
				j := a.job("other", "*/10 * * * * *", lasting(5*time.Second))
				j.Timeout = time.Second
				a.add(j)
				a.takesOver()
			}, says: "scheduler: a hook or the logger has held up other@", restart: true},

		"the leader has no jobs, and one before it had them": {begin: func(t *testing.T, c *cluster, a, b *replica) {
			a.add(a.job("other", "*/10 * * * * *", quick))
			a.takesOver()
			time.Sleep(time.Minute)
			a.leaves()
			b.takesOver()
			a.campaign()
		}, says: "b leads, and does not start the ticks of 1 of the 2 jobs of this process, so they do not run: other",
			inJobs: true, end: func(_ *testing.T, _ *cluster, _, b *replica) {
				b.add(b.job("invoices", "0 2 * * *", quick), b.job("other", "*/10 * * * * *", quick))
				time.Sleep(6 * time.Minute)
			}},

		"the leader is another service": {begin: func(_ *testing.T, _ *cluster, a, b *replica) {
			b.add(b.job("another", "@yearly", quick))
			b.takesOver()
			a.campaign()
		}, says: "b leads, and does not have 1 of the 1 jobs of this process, so they do not run: invoices",
			end: func(_ *testing.T, _ *cluster, a, b *replica) {
				b.add(b.job("invoices", "0 2 * * *", quick))
				time.Sleep(5 * time.Minute)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbleOf(t, 3, time.Minute, func(t *testing.T, c *cluster) {
				core, logs := observer.New(zap.InfoLevel)
				c.opts = []election.Option{election.WithLogger(zap.New(core))}
				a, b := c.idle("a", scheduler.WithHooks(test.hooks)), c.idle("b")
				a.add(a.job("invoices", "0 2 * * *", quick))
				test.begin(t, c, a, b)
				time.Sleep(30 * time.Second)
				want.NoError(t, a.elector.Check()) // it may end by itself
				time.Sleep(15 * time.Minute)
				err := a.elector.Check()
				want.Text(t, err, test.says)
				if got := errors.Is(err, election.ErrRestart); got != test.restart {
					t.Errorf("a restart helps: %v: %v", got, err)
				}
				told := logs.FilterMessage(problemLine).FilterField(zap.String("candidate", "a"))
				if told.Len() != 1 || !strings.Contains(told.All()[0].ContextMap()["error"].(string), test.says) {
					t.Errorf("in a quarter of an hour: %v", told.All())
				}
				jobs, unread := a.Jobs(t.Context())
				if inJobs := slices.ContainsFunc(jobs, func(s scheduler.Status) bool {
					return err != nil && s.Reason == err.Error()
				}); inJobs != test.inJobs {
					t.Errorf("Jobs says the same: %v, %v", inJobs, unread)
				}
				if test.end == nil {
					time.Sleep(time.Hour)
					if n := logs.FilterMessage(problemLine).Len(); n < 2 {
						t.Errorf("in an hour more it is logged %d times", n-1)
					}
					return
				}
				test.end(t, c, a, b)
				time.Sleep(2 * time.Minute)
				want.NoError(t, a.elector.Check())
				if logs.FilterMessage("no problems any more").Len() != 1 {
					t.Error("its end is not logged")
				}
			})
		})
	}
}

func mendJobs(_ *testing.T, c *cluster, _, _ *replica) {
	for node := range 2 {
		c.Node(node).Del(hash)
	}
	time.Sleep(time.Minute)
}

// What explains that a tick has not begun is no problem.
func TestProblems_AreNotWhatMustBeWaitedFor(t *testing.T) {
	for name, change := range map[string]func(*scheduler.Job){
		"jitter": func(j *scheduler.Job) { j.Spec, j.Jitter = "@hourly", 59*time.Minute },
		"queue":  func(j *scheduler.Job) { j.Overlap = scheduler.Queue },
		"pause":  func(*scheduler.Job) {},
		"all":    func(*scheduler.Job) {},
		"drain":  func(*scheduler.Job) {},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				c.opts = []election.Option{election.WithDrainTimeout(time.Hour)}
				a := c.leader("a")
				b := c.replica("b")
				for _, r := range []*replica{a, b} {
					j := r.job("job", "* * * * *", lasting(30*time.Minute))
					change(&j)
					r.add(j)
				}
				time.Sleep(90 * time.Second)
				switch name {
				case "pause":
					c.must(a.Pause(t.Context(), "job"))
				case "all":
					c.must(a.PauseAll(t.Context()))
				case "drain":
					a.stop()
				}
				for range 20 {
					time.Sleep(time.Minute)
					want.NoError(t, a.elector.Check())
					if name != "drain" { // b does not know that a drains
						want.NoError(t, b.elector.Check())
					}
				}
			})
		})
	}
}
