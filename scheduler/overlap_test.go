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
