package election_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestOnLeader_Panics(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		oops := errors.New("oops")
		p := c.candidate("a", election.WithDrainTimeout(time.Minute), election.OnLeader(func(context.Context) {
			time.Sleep(time.Second)
			panic(oops)
		}))
		var cause error
		p.OnLeader(func(ctx context.Context) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			time.Sleep(2 * ttl)
		})
		func() {
			defer func() {
				got, ok := recover().(*election.PanicError)
				if !ok || !errors.Is(got, oops) || len(got.Stack) == 0 {
					t.Errorf("recovered %v", got)
				}
			}()
			_ = p.Run(t.Context())
			t.Error("the panic was swallowed")
		}()
		want.Err(t, cause, oops)
		synctest.Wait()
		if n := c.held(); n < c.N {
			t.Errorf("only %d nodes still have the lock: the next leader may have the same bug at once", n)
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestOnLeader_PanicsBetweenTheDrainAndTheEndOfRun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		free := make(chan struct{})
		p := c.candidate("a", election.WithDrainTimeout(time.Second),
			election.OnLeader(func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(ttl)
				panic("late")
			}))
		inside.Join(p.Elector, inside.Partner{Beside: func(context.Context) { <-free }}) // Run waits for it
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.AfterFunc(3*ttl, func() { close(free) })
		defer func() {
			if got, ok := recover().(*election.PanicError); !ok || got.Value != "late" {
				t.Errorf("recovered %v", got)
			}
		}()
		_ = p.Run(ctx)
		t.Error("the panic was swallowed")
	})
}

// The work outlives its lease, and then panics while Run waits for it.
func TestOnLeader_PanicsAfterItsTermWasLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		p := c.candidate("a", election.OnLeader(func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(2 * ttl)
			panic("late")
		}))
		time.AfterFunc(time.Second, func() { p.links.Hang() })
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 6*ttl)
		defer cancel()
		defer func() {
			if got, ok := recover().(*election.PanicError); !ok || got.Value != "late" || time.Since(began) > 4*ttl {
				t.Errorf("recovered %v after %v", got, time.Since(began))
			}
			p.links.Heal()
		}()
		_ = p.Run(ctx)
		t.Error("the panic was swallowed")
	})
}

func TestOnLeader_PanicsWithAHandler(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var reported []*election.PanicError
		var at []time.Time
		p := c.candidate("a", election.WithCooldown(cooldown),
			election.WithPanicHandler(func(e *election.PanicError) { reported, at = append(reported, e), append(at, time.Now()) }),
			election.OnLeader(func(context.Context) {
				if len(reported) < 8 {
					panic("once more")
				}
			}))
		p.run()
		time.Sleep(time.Minute) // the pauses take half a minute
		p.leads()
		p.stop()
		<-p.ended
		if len(reported) != 8 || reported[0].Value != "once more" || len(reported[0].Stack) == 0 {
			t.Fatalf("reported %v", reported)
		}
		for i := range reported[1:] {
			if pause := at[i+1].Sub(at[i]); pause < cooldown || pause > cooldown*11/10+100*time.Millisecond {
				t.Errorf("panic %d came %v after the previous one, want %v", i+2, pause, cooldown)
			}
		}
	})
}

func TestOnLeader_ThatPanicsAfterItsTermCoolsDownFromTheEndOfTheTerm(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		const long, lag = 20 * ttl, ttl // it panics after the drain timeout
		var at []time.Time
		p := c.candidate("a", election.WithCooldown(long), election.WithDrainTimeout(time.Second),
			election.WithPanicHandler(func(*election.PanicError) { at = append(at, time.Now()) }),
			election.OnLeader(func(ctx context.Context) {
				term, _ := election.TermFrom(ctx)
				term.Resign(nil)
				time.Sleep(lag)
				panic("again")
			}))
		p.run()
		time.Sleep(6 * long)
		p.stop()
		<-p.ended
		for i := 1; i < len(at); i++ {
			if pause := at[i].Sub(at[i-1]); pause < long || pause > long*11/10+lag {
				t.Errorf("panic %d came %v after the previous one, with a cooldown of %v", i+1, pause, long)
			}
		}
		if len(at) < 3 {
			t.Errorf("%d panics", len(at))
		}
	})
}

func TestOnLeader_APanicAfterRunReachesTheHandler(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		reported := make(chan *election.PanicError, 1)
		core, logs := observer.New(zap.ErrorLevel)
		p := c.candidate("a", election.WithDrainTimeout(time.Second), election.WithLogger(zap.New(core)),
			election.WithPanicHandler(func(e *election.PanicError) { reported <- e }),
			election.OnLeader(func(context.Context) {
				time.Sleep(time.Hour)
				panic("late")
			})).run()
		p.leads()
		p.stop()
		<-p.ended
		want.Err(t, p.err, election.ErrUndrained)
		if e := <-reported; e.Value != "late" {
			t.Errorf("reported %v", e)
		}
		if n := logs.FilterMessage("a callback panicked").Len(); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
}

func TestOnLeader_GoexitEndsTheTerm(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		reported := make(chan *election.PanicError, 1)
		p := c.candidate("a", election.WithPanicHandler(func(e *election.PanicError) { reported <- e }))
		stop := p.OnLeader(func(context.Context) { runtime.Goexit() })
		p.run()
		select {
		case e := <-reported:
			want.Text(t, e, "runtime.Goexit")
		case <-time.After(ttl):
			t.Error("the term goes on")
		}
		stop()
		p.leads()
	})
}

// A panic is logged even if the term ended for another reason, or other work goes on, and Shutdown does not hide it.
func TestOnLeader_APanicIsLoggedWhateverEndedTheTerm(t *testing.T) {
	const unhandled = "this process ends by a panic, the next leader waits for the lease to expire"
	handled := election.WithPanicHandler(func(*election.PanicError) {})
	for what, test := range map[string]struct {
		opts []election.Option
		stop func(a *candidate) error
		want []string // after "a callback panicked"
	}{
		"after a stop, handled": {[]election.Option{handled}, func(a *candidate) error {
			a.stop()
			return nil
		}, []string{"handed leadership over"}},
		"in a shutdown": {nil, func(a *candidate) error {
			ctx, cancel := context.WithTimeout(context.Background(), 3*ttl)
			defer cancel()
			if a.Shutdown(ctx) == nil {
				return errors.New("Shutdown says that all is well")
			}
			return nil
		}, []string{unhandled}},
		"beside work that goes on, not handled": {
			[]election.Option{election.WithDrainTimeout(time.Second), election.OnLeader(func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(ttl)
			})}, func(a *candidate) error {
				a.stop()
				return nil
			}, []string{unhandled},
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				core, logs := observer.New(zap.InfoLevel)
				a := c.candidate("a", append(test.opts, election.WithLogger(zap.New(core)),
					election.OnLeader(func(ctx context.Context) {
						<-ctx.Done()
						panic("in its clean-up")
					}))...)
				ctx, stop := context.WithCancel(t.Context())
				a.stop = stop
				ended := make(chan any, 1)
				go func() { // ends with stop
					defer func() { ended <- recover() }()
					_ = a.Run(ctx)
				}()
				defer func() {
					time.Sleep(2 * ttl)
					stop()
					got, _ := (<-ended).(*election.PanicError)
					if isHandled := !slices.Contains(test.want, unhandled); isHandled != (got == nil) ||
						!isHandled && got.Value != "in its clean-up" {
						t.Errorf("Run panics with %v", got)
					}
					time.Sleep(2 * ttl) // for the work that is left running
				}()
				a.leads()
				time.Sleep(time.Second)
				logs.TakeAll()
				if err := test.stop(a); err != nil {
					t.Error(err)
				}
				time.Sleep(4 * time.Second)
				got := slices.DeleteFunc(logs.All(), func(line observer.LoggedEntry) bool { return strings.HasPrefix(line.Message, "draining") })
				if len(got) != 1+len(test.want) || got[0].Message != "a callback panicked" ||
					got[0].ContextMap()["error"] != "election: callback panicked: in its clean-up" {
					t.Fatalf("logged %v", got)
				}
				for i, want := range test.want {
					if got[i+1].Message != want {
						t.Errorf("logged %q, want %q", got[i+1].Message, want)
					}
				}
				if text := fmt.Sprint(got[1].ContextMap()["error"]); strings.HasPrefix(what, "beside") && !strings.Contains(text, "still running") {
					t.Errorf("the error of the last line is %s", text)
				}
			})
		})
	}
}
