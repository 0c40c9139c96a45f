package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/scheduler"
)

// Ticks come every 10 s, from 10 s to 90 s. Runs are written tick@start, with +r if they returned after they were replaced.
func TestOverlap_OfATickWithARunUnderWay(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name    string
		overlap scheduler.Overlap
		work    func(context.Context, int) error
		want    []string
		notRun  int
	}{
		{
			"Skip takes the first tick after the run's end", scheduler.Skip, lasting(24 * s),
			[]string{"10@10", "40@40", "70@70"}, 6,
		},
		{
			"Queue keeps the newest", scheduler.Queue, lasting(24 * s),
			[]string{"10@10", "30@34", "50@58", "80@82"}, 4,
		},
		{
			"Replace starts when the old run has returned", scheduler.Replace, untilDone(3 * s),
			[]string{"10@10+r", "20@23+r", "30@33+r", "40@43+r", "50@53+r", "60@63+r", "70@73+r",
				"80@83+r", "90@93"}, 0,
		},
		{
			"Allow starts at once", scheduler.Allow, lasting(24 * s),
			[]string{"10@10", "20@20", "30@30", "40@40", "50@50", "60@60", "70@70", "80@80", "90@90"}, 0,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, c *cluster) {
				r := c.leader("a")
				job := r.job("job", "*/10 * * * * *", test.work)
				job.Overlap = test.overlap
				r.add(job)
				c.SleepTo(99 * s)
				var got []string
				for _, run := range c.records() {
					ran := fmt.Sprintf("%v@%v", c.At(run.Tick).Seconds(), c.At(run.start).Seconds())
					if errors.Is(run.cause, scheduler.ErrReplaced) {
						ran += "+r"
					} else if run.cause != nil {
						t.Errorf("%s was canceled by %v", ran, run.cause)
					}
					got = append(got, ran)
				}
				wantEqual(t, "ran", got, test.want)
				notRun := 0
				lines := append(r.logged(zapcore.InfoLevel, "tick skipped"), r.logged(zapcore.WarnLevel, "ticks missed")...)
				for _, line := range lines {
					notRun += int(line.ContextMap()["ticks"].(int64))
				}
				if notRun != test.notRun {
					t.Errorf("%d ticks were logged as not run, want %d", notRun, test.notRun)
				}
			})
		})
	}
}

// a loses its lease during its run, which ignores its context. The next leader notices that the run goes on.
func TestOverlap_OverAChangeOfTheLeader(t *testing.T) {
	for overlap, want := range map[scheduler.Overlap][]string{
		scheduler.Skip:  {"a 1m0s", "b 3m0s"},
		scheduler.Queue: {"a 1m0s", "b 2m0s", "b 3m0s"},
		scheduler.Allow: {"a 1m0s", "b 2m0s", "b 3m0s"},
	} {
		t.Run(fmt.Sprint("overlap ", overlap), func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				addBoth(a, b, "0 * * * * *", lasting(90*time.Second), func(job *scheduler.Job) { job.Overlap = overlap })
				c.SleepTo(62 * time.Second)
				c.depose()
				b.takesOver()
				c.SleepTo(185 * time.Second)
				var got []string
				var returned time.Time
				for _, run := range c.records() {
					got = append(got, run.by+" "+c.at(run.Tick))
					if overlap != scheduler.Allow && run.start.Before(returned) {
						t.Errorf("%s began before the run of a had returned", c.at(run.Tick))
					}
					returned = run.end
				}
				wantEqual(t, "ran", got, want)
			})
		})
	}
}

// a is cut off for longer than the TTL during its run, which ignores its context. The run takes its lease again.
func TestOverlap_ALeaseThatRanOutIsTakenAgain(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "0 * * * * *", lasting(250*time.Second))
		c.SleepTo(65 * time.Second)
		b.campaign()
		a.links.Cut()
		c.SleepTo(80 * time.Second)
		a.links.Heal()
		c.SleepTo(390 * time.Second)
		wantEqual(t, "ran", c.ranBy(), []string{"job 1m0s@1m0s by a", "job 5m0s@5m10s by b", "job 6m0s@6m0s by b"})
		for _, line := range []string{"the lease of a run has run out", "the lease of a run is held again"} {
			if n := a.logs.FilterMessageSnippet(line).Len(); n != 1 {
				t.Errorf("%q is logged %d times", line, n)
			}
		}
	})
}

// The nodes hang when a long run returns. Its end is that of its function.
func TestOverlap_TheEndOfARunDoesNotWaitForTheReleaseOfItsLease(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "10 * * * * *", lasting(10*time.Second)))
		c.SleepTo(19900 * time.Millisecond)
		a.links.Hang()
		c.SleepTo(21 * time.Second)
		a.links.Heal()
		c.SleepTo(25 * time.Second)
		s := a.status("job")
		if end := c.at(s.Last.End.Truncate(10 * time.Millisecond)); s.Last.State != scheduler.StateOK || end != "20s" {
			t.Errorf("the last run is %+v, its end %s", s.Last, end)
		}
	})
}

// b has taken over a run and waits for the first one, which goes on. Then b loses its lease too. The next leader, which is b
// again, runs the tick and does not skip it.
func TestTakeOver_OfOneThatStillHadToWait(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "@every 3m", lasting(90*time.Second), atLeastOnce, queued)
		c.SleepTo(185 * time.Second)
		c.depose()
		b.takesOver()
		c.SleepTo(220 * time.Second)
		c.depose()
		c.SleepTo(350 * time.Second)
		if got := b.states("job"); got["3m0s"] != scheduler.StateOK {
			t.Errorf("recorded %v, ran %v", got, c.ran())
		}
		if runs := c.records(); len(runs) != 2 || runs[1].Attempt != 2 || runs[1].start.Before(runs[0].end) {
			t.Errorf("ran %+v", runs)
		}
	})
}
