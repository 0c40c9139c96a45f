package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// A row goes in the first term of a process, comes back in a term of another one, and goes again a day later. The first process
// leads again, and keeps what the nodes know of the job for a day from then on.
func TestSource_AJobThatIsGoneAgainIsKeptForADayAgain(t *testing.T) {
	long(t)
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		tab, job := &table{}, every("job", "@hourly", quick)
		tab.set(job)
		a := c.leader("a").sourceEvery(tab, 30*time.Minute)
		b := c.idle("b").sourceEvery(tab, 30*time.Minute)
		c.SleepTo(35 * time.Minute)
		tab.set()
		c.SleepTo(65 * time.Minute)
		a.leaves()
		tab.set(job)
		b.takesOver()
		c.SleepTo(25*time.Hour + 10*time.Minute)
		tab.set()
		c.SleepTo(25*time.Hour + 50*time.Minute)
		b.leaves()
		a.takesOver()
		c.SleepTo(28 * time.Hour)
		if s, err := a.Status(t.Context(), "rows/job"); err != nil || !s.Removed {
			t.Errorf("hours after the row was gone: %+v, %v", s, err)
		}
		c.SleepTo(50 * time.Hour)
		if _, err := a.Status(t.Context(), "rows/job"); !errors.Is(err, scheduler.ErrUnknownJob) {
			t.Errorf("after a day: %v", err)
		}
	})
}

// A node is away when the nodes forget a job, and knows it when it is back. It forgets it as well.
func TestSource_AJobIsForgottenByANodeThatWasAway(t *testing.T) {
	long(t)
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("job", "@hourly", quick))
		a := c.leader("a").sourceEvery(tab, 30*time.Minute)
		c.SleepTo(35 * time.Minute)
		tab.set()
		c.SleepTo(24 * time.Hour)
		a.links.Cut(2)
		c.SleepTo(26*time.Hour + 10*time.Minute)
		known := func() (nodes []int) {
			for n := range 3 {
				if c.Node(n).HGet(hash, "rows/job") != "" {
					nodes = append(nodes, n)
				}
			}
			return nodes
		}
		if nodes := known(); !slices.Equal(nodes, []int{2}) {
			t.Errorf("the job is known to the nodes %v, want 2", nodes)
		}
		a.links.Heal(2)
		a.links.Delay(time.Millisecond, 0) // so the node is among the first two, and these know different jobs
		c.SleepTo(28 * time.Hour)
		if nodes := known(); len(nodes) > 0 {
			t.Errorf("the job is still known to the nodes %v", nodes)
		}
	})
}

// While a node hangs, each job that is forgotten takes a while. A refresh does not wait for that.
func TestSource_ForgettingHoldsUpNoLoad(t *testing.T) {
	long(t)
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		var rows []row
		for n := range 50 {
			rows = append(rows, every(fmt.Sprint("job", n), "@hourly", quick))
		}
		tab.set(rows...)
		a := c.leader("a").sourceEvery(tab, 30*time.Minute)
		c.SleepTo(35 * time.Minute)
		tab.set()
		c.SleepTo(24*time.Hour + 55*time.Minute)
		a.links.Hang(2)
		c.SleepTo(25 * time.Hour)
		for n := range 12 {
			began := time.Now()
			_, err := a.TriggerAndWait(t.Context(), "rows")
			c.must(err)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("refresh %d took %v", n, took)
			}
			time.Sleep(5 * time.Minute)
		}
	})
}

// A bad row is no reason not to say that ticks of another job have not begun, which a restart mends.
func TestSource_ABadRowDoesNotHideTicksThatHaveNotBegun(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("bad", "never", quick))
		a := c.leader("a").sourceEvery(tab, time.Hour)
		a.add(a.job("other", "*/10 * * * * *", quick))
		c.SleepTo(61 * time.Second)
		a.ForgetWakes()
		c.SleepTo(5 * time.Minute)
		if err := a.elector.Check(); !errors.Is(err, election.ErrRestart) {
			t.Errorf("Check: %v", err)
		}
	})
}

// The Schedule of a row fails after it was loaded.
func TestSource_AScheduleThatFails(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab, gone := &table{}, &atomic.Bool{}
		tab.set(every("job", "workdays", quick, func(j *scheduler.Job) {
			j.Schedule = nextFunc(func(after time.Time) time.Time {
				if gone.Load() {
					panic("the calendar is gone")
				}
				return after.Truncate(10 * time.Second).Add(10 * time.Second)
			})
		}))
		a := c.leader("a").sourceEvery(tab, time.Hour)
		c.SleepTo(15 * time.Second)
		gone.Store(true)
		c.SleepTo(time.Minute)
		const message = "the Schedule of a job has failed, and the job has no ticks any more in this process"
		if n := len(a.logged(zap.ErrorLevel, message)); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
}

// A middleware gives up a load that ignores its context. The load returns its rows while the term ends, and none of them ticks
// in the next term of this process before that has loaded them.
func TestSource_ALoadThatIsLeftBehind(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		a := c.leader("a", scheduler.WithMiddleware(func(next func(context.Context, scheduler.Run) error) func(context.Context, scheduler.Run) error {
			return func(ctx context.Context, run scheduler.Run) error {
				left := make(chan error, 1)
				go func() { left <- next(ctx, run) }()
				select {
				case err := <-left:
					return err
				case <-time.After(10 * time.Second):
					return errors.New("given up")
				}
			}
		})).sourceEvery(tab, 5*time.Minute)
		c.SleepTo(10 * time.Second)
		slow := &atomic.Bool{}
		tab.set(every("job", "slow", quick, func(j *scheduler.Job) {
			j.Schedule = nextFunc(func(after time.Time) time.Time {
				if slow.Load() {
					time.Sleep(1900 * time.Millisecond) // just within the limit
				}
				return after.Truncate(10 * time.Second).Add(10 * time.Second)
			})
		}))
		slow.Store(true) // the check of the row's schedule takes its time
		c.must(a.Refresh(t.Context(), "rows"))
		c.SleepTo(15 * time.Second)
		tab.set()
		a.leaves()
		c.SleepTo(40 * time.Second)
		slow.Store(false)
		tab.onLoad(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		a.takesOver()
		c.SleepTo(100 * time.Second)
		wantEqual(t, "ticks", c.ticksBy("rows/job"), nil)
	})
}

// The source is paused when the leader changes, and cannot be loaded then. Its jobs do not wait for the end of the pause.
func TestSource_APausedSourceIsLoadedWhenItCan(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("job", "30 * * * * *", quick))
		a := c.leader("a").source(tab)
		b := c.idle("b").source(tab)
		c.SleepTo(40 * time.Second)
		c.must(a.Pause(t.Context(), "rows"))
		c.SleepTo(50 * time.Second)
		a.leaves()
		tab.onLoad(func(context.Context) error { return errors.New("the database is down") })
		b.takesOver()
		c.SleepTo(5 * time.Minute)
		tab.onLoad(nil)
		c.SleepTo(8 * time.Minute)
		if ticks := c.ticksBy("rows/job"); !slices.Contains(ticks, "b 7m30s") {
			t.Errorf("ticks %q, loads at %v", ticks, tab.loadedAt(c))
		}
		n := len(tab.loadedAt(c))
		c.SleepTo(15 * time.Minute)
		if more := len(tab.loadedAt(c)) - n; more > 0 {
			t.Errorf("%d loads during the pause", more)
		}
	})
}

// A process without the source, such as redlockctl, says what the ticks wait for as well.
func TestSource_AnyProcessSaysWhatTicksWaitFor(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("job", "0 * * * * *", quick))
		a, b := c.leader("a").source(tab), c.idle("b").source(tab)
		viewer := c.idle("viewer")
		c.SleepTo(70 * time.Second)
		tab.onLoad(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		a.leaves()
		c.SleepTo(100 * time.Second)
		b.takesOver()
		c.SleepTo(130 * time.Second)
		for _, r := range []*replica{viewer, b} {
			if s := r.status("rows/job"); s.Waiting.What != "for its source" || !strings.Contains(s.Reason, "for its source") {
				t.Errorf("%s: %+v", r.id, s)
			}
			if s := r.status("rows"); s.Waiting.What != "" {
				t.Errorf("%s: the source waits: %+v", r.id, s)
			}
		}
	})
}
