package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// table is where the rows of the source "rows" come from, on all replicas.
type table struct {
	mu    sync.Mutex // guards the fields below
	rows  []row
	load  func(ctx context.Context) error // before the rows are returned; may be nil
	loads []time.Time                     // when they began
}

// row returns a row as the replica loads it.
type row func(r *replica) scheduler.Job

// every returns a row whose runs are recorded and do work.
func every(name, spec string, work func(context.Context, int) error, change ...func(*scheduler.Job)) row {
	return func(r *replica) scheduler.Job {
		j := r.job(name, spec, work)
		for _, do := range change {
			do(&j)
		}
		return j
	}
}

func (tab *table) set(rows ...row) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.rows = rows
}

// onLoad sets what a load does before it returns the rows.
func (tab *table) onLoad(do func(ctx context.Context) error) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.load = do
}

// loadedAt returns when loads began.
func (tab *table) loadedAt(c *cluster) (all []string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	for _, at := range tab.loads {
		all = append(all, c.At(at).Truncate(time.Second).String())
	}
	return all
}

// source makes the replica load the table every minute.
func (r *replica) source(tab *table) *replica { return r.sourceEvery(tab, time.Minute) }

func (r *replica) sourceEvery(tab *table, pause time.Duration) *replica {
	r.c.T.Helper()
	r.c.must(r.AddSource(scheduler.Source{Name: "rows", Every: pause, Load: func(ctx context.Context) (rows []scheduler.Job, err error) {
		tab.mu.Lock()
		tab.loads = append(tab.loads, time.Now())
		load := tab.load
		tab.mu.Unlock()
		if load != nil {
			err = load(ctx)
		}
		tab.mu.Lock()
		defer tab.mu.Unlock()
		for _, row := range tab.rows {
			rows = append(rows, row(r))
		}
		return rows, err
	}}))
	return r
}

// ticksBy returns the ticks of a job that ran, each with the process.
func (c *cluster) ticksBy(job string) (all []string) {
	for _, r := range c.records() {
		if r.Job == job {
			all = append(all, r.by+" "+c.at(r.Tick))
		}
	}
	return all
}

// The next leader's first load takes a minute and a half. The ticks that come meanwhile wait for it, as a follower says, and
// are caught up with. Until then nobody can tell which jobs the leader has, so none can be forgotten.
func TestSource_TicksWaitForTheFirstLoadOfATerm(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(
			every("all", "0 * * * * *", quick, func(j *scheduler.Job) { j.CatchUp = scheduler.CatchUpAll(time.Hour) }),
			every("none", "0 * * * * *", quick, func(j *scheduler.Job) { j.CatchUp = scheduler.CatchUpNone() }),
			every("gone", "0 0 0 1 1 *", quick),
		)
		a := c.leader("a").source(tab)
		b, follower := c.idle("b").source(tab), c.idle("f").source(tab)
		c.SleepTo(70 * time.Second)
		wantEqual(t, "ticks of a", c.ticksBy("rows/all"), []string{"a 1m0s"})
		tab.onLoad(func(ctx context.Context) error {
			select {
			case <-time.After(50 * time.Second):
			case <-ctx.Done():
			}
			return context.Cause(ctx)
		})
		a.leaves()
		c.SleepTo(100 * time.Second)
		b.takesOver()
		c.SleepTo(130 * time.Second)
		s := follower.status("rows/all")
		if s.Waiting.What != "for its source" || c.at(s.Waiting.Tick) != "2m0s" || s.Own != "" || s.Unowned ||
			!strings.Contains(s.Reason, "for its source") {
			t.Errorf("before the first load has returned: %+v", s)
		}
		if err := follower.Forget(t.Context(), "rows/gone"); !errors.Is(err, scheduler.ErrJobInUse) {
			t.Errorf("a job that the leader may have can be forgotten: %v", err)
		}
		c.SleepTo(190 * time.Second)
		wantEqual(t, "ticks", c.ticksBy("rows/all"), []string{"a 1m0s", "b 2m0s", "b 3m0s"})
		rows, err := follower.History(t.Context(), "rows/none", 9)
		c.must(err)
		if i := slices.IndexFunc(rows, func(r scheduler.Record) bool { return r.State == scheduler.StateMissed }); i < 0 ||
			!strings.Contains(rows[i].Err, "its source was loaded at 2000-01-02 00:02:") {
			t.Errorf("no row for the tick that is not caught up with: %+v", rows)
		}
		if s := follower.status("rows/all"); s.Waiting.What != "" || s.Own != "" {
			t.Errorf("after the first load: %+v", s)
		}
	})
}

// A load fails in some way. The jobs stay as they are; the hook, the history, the status on any replica and Check say so; the
// load is tried again with a growing pause.
func TestSource_ALoadThatFails(t *testing.T) {
	errDown := errors.New("the database is down")
	for name, test := range map[string]struct {
		load func(ctx context.Context) error
		says string
	}{
		"error":        {func(context.Context) error { return errDown }, "the jobs are as they were: the database is down"},
		"panic":        {func(context.Context) error { panic("no rows") }, "panicked: no rows"},
		"hangs":        {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "timeout of 1m0s has passed"},
		"goes on late": {func(ctx context.Context) error { <-ctx.Done(); return nil }, "timeout of 1m0s has passed"},
	} {
		t.Run(name, func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				tab := &table{}
				tab.set(every("job", "30 * * * * *", quick))
				retried, failed := 0, 0
				a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{
					Retrying: func(run scheduler.Run, _ error) { retried++ },
					Finished: func(r scheduler.Record) {
						if r.Job == "rows" && r.State == scheduler.StateFailed {
							failed++
						}
					},
				})).source(tab)
				follower := c.idle("f").source(tab)
				c.SleepTo(50 * time.Second)
				tab.onLoad(test.load)
				tab.set() // must not be seen
				c.SleepTo(4*time.Minute + 50*time.Second)
				wantEqual(t, "ticks", c.ticksBy("rows/job"), []string{"a 30s", "a 1m30s", "a 2m30s", "a 3m30s", "a 4m30s"})
				s := follower.status("rows")
				if s.Failures < 2 || !strings.Contains(s.LastEnded.Err, test.says) || failed != s.Failures {
					t.Errorf("%d failed: %+v", failed, s)
				}
				if err := a.elector.Check(); err == nil || !strings.Contains(err.Error(), `the source "rows": its last load has failed: `) {
					t.Errorf("Check: %v", err)
				}
				if name == "error" {
					if n := retried; n < 12 || n > 30 {
						t.Errorf("%d retries in four minutes, loads at %v", n, tab.loadedAt(c))
					}
				}
				tab.onLoad(nil)
				c.SleepTo(6*time.Minute + 30*time.Second)
				if err := a.elector.Check(); err != nil {
					t.Errorf("Check: %v", err)
				}
				if ticks := c.ticksBy("rows/job"); len(ticks) > 6 { // the row is gone
					t.Errorf("ticks %q", ticks)
				}
			})
		})
	}
}

// A load that ignores its context holds up the end of its term as a run does: until the drain timeout no other replica leads,
// and the one that leads then does not wait for that load.
func TestSource_ALoadThatIgnoresItsContext(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("job", "30 * * * * *", quick))
		a := c.leader("a").source(tab)
		b := c.idle("b").source(tab)
		c.SleepTo(50 * time.Second)
		release := make(chan struct{})
		tab.onLoad(func(context.Context) error { <-release; return nil })
		c.SleepTo(3*time.Minute + 20*time.Second)
		tab.onLoad(nil)
		wantEqual(t, "loads", tab.loadedAt(c), []string{"0s", "1m0s"}) // no second one beside it
		if s := b.status("rows"); !strings.Contains(s.LastEnded.Err, "an earlier load has not returned") {
			t.Errorf("%+v", s)
		}
		a.stop()
		b.campaign()
		c.SleepTo(4 * time.Minute)
		if err := a.elector.Check(); err == nil || !strings.Contains(err.Error(), `source "rows"`) {
			t.Errorf("Check does not name the source: %v", err)
		}
		b.leads()
		c.SleepTo(5*time.Minute + 20*time.Second)
		if ticks := c.ticksBy("rows/job"); !slices.Contains(ticks, "b 4m30s") {
			t.Errorf("the next leader waits for the load of the one before: %q", ticks)
		}
		close(release)
		<-a.ended
	})
}

// A load that honors its context does not hold up a handover.
func TestSource_ALoadUnderWayDoesNotHoldUpAHandover(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("job", "* * * * * *", quick))
		a := c.leader("a").source(tab)
		b := c.idle("b").source(tab)
		c.SleepTo(50 * time.Second)
		tab.onLoad(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		c.SleepTo(65 * time.Second)
		tab.onLoad(nil)
		a.leaves()
		if c.At(time.Now()) > 66*time.Second {
			t.Errorf("a left at %v", c.At(time.Now()))
		}
		b.takesOver()
		c.SleepTo(75 * time.Second)
		if s := b.status("rows"); s.Failures > 0 || s.Running {
			t.Errorf("%+v", s)
		}
		ticks := c.ticksBy("rows/job")
		if last := ticks[len(ticks)-1]; last != "b 1m15s" && last != "b 1m14s" {
			t.Errorf("the last tick is %s", last)
		}
	})
}
