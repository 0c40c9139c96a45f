package election_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/doing"
)

// Each test stops a leader. It wants a line soon after that and every five seconds, with what the drain waits for, and until when.
func TestLog_SaysWhatADrainWaitsFor(t *testing.T) {
	named := func(lasts ...time.Duration) func(context.Context) { // each job goes on for so long after the stop
		return func(ctx context.Context) {
			doing.Naming(ctx)
			for i, d := range lasts {
				end := doing.Start(ctx, fmt.Sprint("job ", i))
				context.AfterFunc(ctx, func() { time.AfterFunc(d, end) })
			}
			<-ctx.Done()
			time.Sleep(slices.Max(lasts) + time.Second/2) // their ends are stored
		}
	}
	stop := func(a *candidate) { a.stop() }
	for what, test := range map[string]struct {
		work func(ctx context.Context)
		stop func(a *candidate)
		want []string
	}{
		"jobs":                    {named(3*time.Second, 7*time.Second), stop, []string{"0.1: job 0, job 1", "5.1: job 1"}},
		"jobs that do not return": {named(time.Minute), stop, []string{"0.1: job 0", "5.1: job 0"}},
		"the ends of jobs":        {named(0), stop, []string{"0.1: the records of work that has returned"}},
		"nothing":                 {func(ctx context.Context) { <-ctx.Done() }, stop, nil},
		"a callback": {func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(time.Second)
		}, stop, []string{"0.1: election_test.TestLog_SaysWhatADrainWaitsFor.func4"}},
		"a job while the nodes hang": {named(3 * time.Second), func(a *candidate) {
			a.links.Hang()
			a.stop()
		}, []string{"0.1: job 0"}},
		"a job of a term that was lost": {named(time.Minute), func(a *candidate) {
			a.links.Cut()
			time.Sleep(2 * ttl)
			a.stop()
		}, []string{"0.1: job 0", "5.1: job 0"}},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				core, logs := observer.New(zap.InfoLevel)
				a := c.candidate("a", election.WithLogger(zap.New(core)), election.OnLeader(test.work)).run()
				a.leads()
				test.stop(a)
				began := time.Now()
				<-a.ended
				var got []string
				for _, line := range logs.FilterMessage("draining: waiting for work to return").All() {
					fields := line.ContextMap()
					var running []string
					for _, one := range fields["running"].([]any) {
						name, _, _ := strings.Cut(one.(string), " for ")
						running = append(running, path.Base(name))
					}
					got = append(got, fmt.Sprintf("%.1f: %s", time.Since(began).Seconds()-time.Since(line.Time).Seconds(), strings.Join(running, ", ")))
					if until := fields["until"].(time.Time).Sub(began).Round(time.Millisecond); until != 10*time.Second {
						t.Errorf("until %v after the stop, the drain timeout is 10s", until)
					}
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("logged %q, want %q", got, test.want)
				}
				time.Sleep(2 * time.Minute) // the jobs return
			})
		})
	}
}
