package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// two returns a leader a and a follower b, both with the job "job" every ten seconds. work is what a's runs do.
func (c *cluster) two(work func(context.Context, int) error) (a, b *replica) {
	a, b = c.leader("a"), c.replica("b")
	addBoth(a, b, "*/10 * * * * *", work)
	return a, b
}

// ranBy returns the runs so far as "job tick@start by replica".
func (c *cluster) ranBy() []string {
	var ran []string
	for _, r := range c.records() {
		ran = append(ran, fmt.Sprintf("%s %s@%s by %s", r.Job, c.at(r.Tick), c.at(r.start), r.by))
	}
	return ran
}

func TestShutdown_HandsOverToAReplicaThatTicks(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, _ := c.two(lasting(15 * time.Second))
		term := a.leads()
		c.SleepTo(12 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c.must(a.Shutdown(ctx))
		if got := c.at(now()); got != "25s" {
			t.Errorf("Shutdown returned at %v, the run at 25s", got)
		}
		c.SleepTo(41 * time.Second)
		wantEqual(t, "ran", c.ranBy(),
			[]string{"job 10s@10s by a", "job 30s@30s by b", "job 40s@40s by b"}) // the tick of 20 s came during the run
		if cause := c.records()[0].cause; cause != nil {
			t.Errorf("the run was canceled: %v", cause)
		}
		cause := context.Cause(term.Context())
		want.Err(t, cause, election.ErrResigned)
		want.Text(t, cause, "scheduler: shut down")
	})
}

// A run that does not return in time delays the ticks by at most the drain timeout.
func TestShutdown_HandsOverWhereARunHangs(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, _ := c.two(untilDone(0))
		c.SleepTo(12 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		want.Err(t, a.Shutdown(ctx), context.DeadlineExceeded)
		c.SleepTo(31 * time.Second)
		wantEqual(t, "ran", c.ranBy(), []string{"job 10s@10s by a", "job 30s@30s by b"}) // the tick of 20 s came during the run
		cause := c.records()[0].cause
		want.Err(t, cause, election.ErrResigned)
		want.Text(t, cause, "scheduler: shut down: the time to drain is over")
	})
}

// A run that shuts its Scheduler down does not stop the ticks of all replicas, whatever its context says.
func TestShutdown_FromARunHandsOver(t *testing.T) {
	for what, test := range map[string]struct {
		other bool // the context is not the run's
		took  time.Duration
		says  string
	}{
		"its own context": {false, 0, `called from the run of job "job": it would wait for itself`},
		"another context": {true, drainTimeout, "1 runs are still under way: job@946771210000 for 10s: the elector's drain timeout has passed"},
	} {
		t.Run(what, func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				other, cancel := context.WithCancel(context.Background())
				defer cancel()
				a, b := c.leader("a"), c.replica("b")
				addBoth(a, b, "*/10 * * * * *", func(ctx context.Context, _ int) error {
					if test.other {
						ctx = other
					}
					began := now()
					want.Text(t, a.Shutdown(ctx), test.says)
					if took := now().Sub(began); took != test.took {
						t.Errorf("took %v", took)
					}
					return nil
				})
				c.SleepTo(41 * time.Second)
				ran := c.ranBy()
				if last := ran[len(ran)-1]; last != "job 40s@40s by b" {
					t.Errorf("ran %q", ran)
				}
			})
		})
	}
}

// Shutdown is called while a term starts: in either order, the term does not go on without ticks.
func TestShutdown_WhileATermBegins(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		for i := range 30 {
			var once sync.Once
			var begun *election.Term
			a := c.idle("a")
			if i%2 == 0 { // the first to register may be called first
				a.add(a.job("job", "@yearly", quick))
			}
			a.elector.OnLeader(func(ctx context.Context) {
				once.Do(func() {
					begun, _ = election.TermFrom(ctx)
					if err := a.Shutdown(ctx); err != nil {
						t.Error(err)
					}
				})
			})
			if i%2 == 1 {
				a.add(a.job("job", "@yearly", quick))
			}
			a.takesOver()
			time.Sleep(100 * time.Millisecond)
			if begun.Context().Err() == nil {
				t.Fatal("the term goes on")
			}
			a.leaves()
		}
	})
}
