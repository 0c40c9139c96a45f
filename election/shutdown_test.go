package election_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestShutdown_DrainsWithinItsContext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", time.Second)
		a.leads()
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		began := time.Now()
		if err := a.Shutdown(ctx); err != nil || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		<-a.ended
		synctest.Wait() // the third node's release may be on its way
		if n := c.held(); n > 0 {
			t.Errorf("%d nodes still have the lock", n)
		}
		if err := a.Shutdown(ctx); err != nil {
			t.Errorf("with nothing to stop: %v", err)
		}
		a.run().leads() // it can run again
	})
}

func TestShutdown_OutOfTimeAbandons(t *testing.T) {
	for _, budget := range []time.Duration{0, 5 * time.Second} {
		t.Run(budget.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.replica("a", time.Minute, election.WithDrainTimeout(time.Hour))
				term := a.leads()
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				defer cancel()
				began := time.Now()
				want.Err(t, a.Shutdown(ctx), election.ErrUndrained)
				if took := time.Since(began); took > budget {
					t.Errorf("took %v", took)
				}
				<-a.ended
				want.Err(t, a.err, election.ErrUndrained)
				if took := time.Since(began); took > budget+margin {
					t.Errorf("Run took %v", took)
				}
				if term.Valid() {
					t.Error("the term goes on")
				}
				if c.held() < c.N {
					t.Error("released under running work")
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestShutdown_WhileFollowingReturnsAtOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		b := c.replica("b", 0)
		time.Sleep(ttl)
		began := time.Now()
		if err := b.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		c.Hang()
		d := c.replica("d", 0)
		time.Sleep(ttl)
		if err := d.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > ttl+nodeTimeout {
			t.Errorf("took %v", took-ttl)
		}
	})
}

// Work that stops when it is cut off has drained: the lease is released, and there is no error. If nothing is running any more,
// nothing is cut short, however little time is left.
func TestShutdown_ThatIsCutShortAndDrainedIsNoError(t *testing.T) {
	work := election.OnLeader(func(ctx context.Context) {
		term, _ := election.TermFrom(ctx)
		<-term.Context().Done()
	})
	within := func(budget time.Duration) func(t *testing.T, a *candidate) error {
		return func(t *testing.T, a *candidate) error {
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			defer cancel()
			return a.Shutdown(ctx)
		}
	}
	for name, test := range map[string]struct {
		opts []election.Option
		stop func(t *testing.T, a *candidate) error
		cut  int // lines that say so
	}{
		"by its deadline": {[]election.Option{work}, within(4 * time.Second), 1},
		"without a time to drain": {[]election.Option{work, election.WithDrainTimeout(0)}, func(_ *testing.T, a *candidate) error {
			a.stop()
			<-a.ended
			return a.err
		}, 0},
		"with nothing running": {nil, func(t *testing.T, a *candidate) error {
			_ = within(0)(t, a) // does not wait, since its context is done
			return nil
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 * *rounds { // select picks a random case
				inSeries(t, 1, func(t *testing.T, c *cluster) {
					core, logs := observer.New(zap.InfoLevel)
					a := c.candidate("a", append(test.opts, election.WithLogger(zap.New(core)))...).run()
					a.leads()
					if err := test.stop(t, a); err != nil {
						t.Error(err)
					}
					<-a.ended
					synctest.Wait()
					if n := c.held(); n > 0 {
						t.Errorf("%d nodes still have the lock", n)
					}
					if short := logs.FilterMessageSnippet("cut short").All(); len(short) != test.cut {
						t.Errorf("logged %v", short)
					}
				})
			}
		})
	}
}

// If the deadline of a shutdown is near, the work gets all but a little of the time left, whatever the TTL.
func TestShutdown_KeepsLittleOfItsTimeForItself(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		locker, links := c.Locker(redlock.WithTTL(time.Minute), redlock.WithMaxTTL(time.Minute))
		a := c.candidateOf(locker, links, "x", "a", election.OnLeader(func(ctx context.Context) {
			term, _ := election.TermFrom(ctx)
			<-ctx.Done()
			select {
			case <-time.After(9 * time.Second):
			case <-term.Context().Done():
				t.Error("the work was cut off")
			}
		})).run()
		a.leads()
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		if err := a.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		<-a.ended
	})
}

// A stop that comes at the same time as the win is noticed before anything starts.
func TestShutdown_ThatComesWithTheWinStartsNothing(t *testing.T) {
	for what, hooks := range map[string]func(stop func()) election.Hooks{
		"won": func(stop func()) election.Hooks {
			return election.Hooks{Attempt: func(_ time.Duration, err error) {
				if err == nil {
					stop()
				}
			}}
		},
		"elected": func(stop func()) election.Hooks {
			return election.Hooks{Elected: func(*election.Term) { stop() }}
		},
	} {
		t.Run(what, func(t *testing.T) {
			for range 10 * *rounds { // which goroutine comes first is random
				inSeries(t, 1, func(t *testing.T, c *cluster) {
					core, logs := observer.New(zap.InfoLevel)
					ctx, stop := context.WithCancel(t.Context())
					a := c.candidate("a", election.WithHooks(hooks(stop)), election.WithLogger(zap.New(core)),
						election.OnLeader(func(context.Context) { t.Error("a callback was called") }))
					if err := a.Run(ctx); err != nil {
						t.Error(err)
					}
					synctest.Wait()
					if n := c.held(); n > 0 {
						t.Errorf("%d nodes still have the lock", n)
					}
					if leads := logs.FilterMessage("this replica leads").Len(); what == "won" && leads > 0 {
						t.Error("it says that it leads")
					}
				})
			}
		})
	}
}

func TestShutdown_BeforeRunIsNotLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.candidate("a")
		if err := a.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		want.Err(t, a.Run(ctx), election.ErrStopped)
		a.run().leads()
	})
}

// A context of a callback counts as its own until its term is over. Whoever keeps it for longer calls as anybody else does.
func TestShutdown_WaitsAlthoughTheContextIsOfAnEarlierTerm(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var kept []context.Context
		a := c.candidate("a", election.OnLeader(func(ctx context.Context) { kept = append(kept, context.WithoutCancel(ctx)) })).run()
		first := a.leads()
		synctest.Wait()
		first.Resign(nil)
		time.Sleep(2 * ttl)
		a.leads()
		synctest.Wait()
		want.NoError(t, a.Shutdown(kept[0]))
		if state := a.State(); state != election.StateStopped {
			t.Errorf("it has not waited for Run: %s", state)
		}
		for _, ctx := range slices.Clone(kept) { // Run is allowed, too
			ended := make(chan error)
			ctx, stop := context.WithCancel(ctx)
			go func() { ended <- a.Run(ctx) }()
			a.leads()
			stop()
			want.NoError(t, <-ended)
		}
	})
}
