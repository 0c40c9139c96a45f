package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// canceling returns the rows of the history after a cancel by another replica, 20 s after the run of 1m0s has begun.
func (c *cluster) canceling(a, b *replica, work func(context.Context, int) error, change func(*scheduler.Job), before, after func()) []string {
	addBoth(a, b, "0 1 0 * * *", work, change)
	c.SleepTo(80 * time.Second)
	before()
	c.must(b.Cancel(c.T.Context(), "job", scheduler.By("ann"), scheduler.Because("INC-7")))
	after()
	c.SleepTo(10 * time.Minute)
	history, err := b.History(c.T.Context(), "job", 50)
	c.must(err)
	var rows []string
	for _, record := range history {
		rows = append([]string{c.row(record)}, rows...)
	}
	return rows
}

func retrying(job *scheduler.Job) { job.Retry = scheduler.Retry{Times: 3, Wait: time.Minute} }

// A run that is canceled ends wherever it runs, and is neither retried nor repeated.
func TestCancel(t *testing.T) {
	const by = `scheduler: canceled by "ann" on "b"`
	for name, test := range map[string]struct {
		work   func(context.Context, int) error
		change func(*scheduler.Job)
		want   string
	}{
		"a run":                          {untilDone(0), retrying, "1m0s canceled 1 1m0s-1m20s " + by + ": context canceled"},
		"of a job that repeats its runs": {untilDone(0), atLeastOnce, "1m0s canceled 1 1m0s-1m20s " + by + ": context canceled"},
		"one that returns nil":           {func(ctx context.Context, _ int) error { <-ctx.Done(); return nil }, retrying, "1m0s ok 1 1m0s-1m20s "},
		"one that waits for a retry":     {failing, retrying, `1m0s canceled 2 1m0s-1m20s canceled by "ann" on "b"`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				rows := c.canceling(a, b, test.work, test.change, func() {}, func() {})
				wantEqual(t, "recorded", rows, []string{test.want})
				for _, run := range c.records() {
					if run.Attempt == 1 && strings.Contains(test.want, "scheduler: canceled") && !errors.Is(run.cause, scheduler.ErrCanceled) {
						t.Errorf("the cause is %v", run.cause)
					}
				}
				if n := len(c.records()); n != 1 {
					t.Errorf("%d attempts", n)
				}
				kept, err := b.Changes(t.Context(), "job")
				if err != nil || len(kept) != 1 || kept[0].What != "cancel" || kept[0].By != "ann" || kept[0].Reason != "INC-7" {
					t.Errorf("kept are %+v, %v", kept, err)
				}
			})
		})
	}
}

// The leader dies before the run that was canceled has returned: the next one does not repeat it.
func TestCancel_OfARunWhoseLeaderDies(t *testing.T) {
	for _, learns := range []bool{true, false} {
		t.Run(fmt.Sprintf("it learns of that: %v", learns), func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				b.campaign()
				before, after := func() { a.links.Cut() }, func() {}
				if learns {
					before, after = func() {}, func() {
						time.Sleep(time.Second)
						a.links.Cut()
					}
				}
				rows := c.canceling(a, b, untilDone(time.Hour), atLeastOnce, before, after)
				if len(rows) != 1 || !strings.HasPrefix(rows[0], "1m0s canceled 1 ") || len(c.records()) != 1 {
					t.Errorf("recorded %q, %d runs", rows, len(c.records()))
				}
			})
		})
	}
}

func TestCancel_ARunThatIgnoresItIsShown(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "0 1 0 * * *", lasting(5*time.Minute)), a.job("idle", "@yearly", quick))
		c.SleepTo(80 * time.Second)
		c.must(b.Cancel(t.Context(), "job"))
		c.SleepTo(2 * time.Minute)
		if s := b.status("job"); !s.Running || s.Last.Err != "cancel asked at 2000-01-02 00:01:20, it has not returned" || s.Overrun.ID != s.Last.ID {
			t.Errorf("status %+v", s)
		}
		want.Err(t, b.Cancel(t.Context(), "idle"), scheduler.ErrNotRunning)
		want.Err(t, b.Cancel(t.Context(), "nobody's"), scheduler.ErrUnknownJob)
		want.Err(t, b.Cancel(t.Context(), "a\nb"), scheduler.ErrName)
		c.SleepTo(7 * time.Minute)
		want.Err(t, b.Cancel(t.Context(), "job"), scheduler.ErrNotRunning)
	})
}
