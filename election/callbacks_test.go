package election_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

// These are, in order, the cases of a callback's life, the last one with hooks as well.

func TestOnLeader_RegisteredBeforeRunOrAsFollower(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		var together sync.WaitGroup // each returns when all have begun
		together.Add(4)
		fn := func(ctx context.Context) {
			together.Done()
			together.Wait()
			<-ctx.Done()
		}
		p := c.candidate("b", election.OnLeader(fn))
		p.OnLeader(fn)
		p.run()
		time.Sleep(ttl)
		p.OnLeader(fn)
		p.OnLeader(fn)
		a.stop()
		p.leads()
		together.Wait()
	})
}

func TestOnLeader_EachRunsOncePerTerm(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var a, b atomic.Int32
		count := func(n *atomic.Int32) func(context.Context) {
			return func(ctx context.Context) { n.Add(1); <-ctx.Done() }
		}
		p := c.candidate("a", election.WithMaxExtensions(2), election.OnLeader(count(&a)))
		p.OnLeader(count(&b))
		p.run()
		for range 4 {
			<-p.leads().Context().Done()
		}
		p.stop()
		<-p.ended
		if a.Load() < 4 || a.Load() != b.Load() {
			t.Errorf("called %d and %d times in at least 4 terms", a.Load(), b.Load())
		}
	})
}

func TestOnLeader_RegisteredLateWhileLeading(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		p := c.replica("a", time.Second)
		term := p.leads()
		time.Sleep(ttl)
		var seen *election.Term
		stop := p.OnLeader(func(ctx context.Context) {
			seen, _ = election.TermFrom(ctx)
			<-ctx.Done()
		})
		synctest.Wait()
		if seen != term {
			t.Error("not called in the current term")
		}
		stop()
	})
}

func TestOnLeader_RegisteredWhileDrainingOrCoolingDown(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		p := c.replica("a", time.Second, election.WithCooldown(cooldown))
		var draining, cooling, between []*election.Term
		seen := func(terms *[]*election.Term) func(context.Context) {
			return func(ctx context.Context) {
				term, _ := election.TermFrom(ctx)
				*terms = append(*terms, term)
				<-ctx.Done()
			}
		}
		first := p.leads()
		first.Resign(nil)
		synctest.Wait() // it drains
		p.OnLeader(seen(&draining))
		<-first.Context().Done()
		synctest.Wait() // it cools down
		p.OnLeader(seen(&cooling))
		second := p.leads()
		p.stop()
		<-p.ended
		p.OnLeader(seen(&between))
		third := p.run().leads()
		synctest.Wait()
		for what, got := range map[string][]*election.Term{"draining": draining, "cooling down": cooling} {
			if !slices.Equal(got, []*election.Term{second, third}) {
				t.Errorf("registered while %s it saw %d terms, want the two that followed", what, len(got))
			}
		}
		if !slices.Equal(between, []*election.Term{third}) {
			t.Errorf("registered between two Runs it saw %d terms", len(between))
		}
	})
}

func TestOnLeader_ReturnsEarly(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		calls := 0
		p := c.candidate("a", election.OnLeader(func(context.Context) { calls++ })).run()
		term := p.leads()
		time.Sleep(5 * ttl)
		if now, ok := p.Term(); !ok || now != term || calls != 1 {
			t.Errorf("called %d times, and it leads: %v", calls, ok)
		}
	})
}

// A thousand goroutines register and unregister while terms come and go: each sees every term that begins
// between the two, once.
func TestOnLeader_RegisteredAroundChangesSeesEachTermOnce(t *testing.T) {
	const goroutines, changes, apart = 1000, 50, 100 * time.Millisecond
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var mu sync.Mutex // guards elected and each seen
		var elected []uint64
		begun := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(elected)
		}
		p := c.candidate("a", election.WithCooldown(0), election.WithHooks(election.Hooks{
			Elected: func(term *election.Term) { // and then its callbacks are started
				mu.Lock()
				defer mu.Unlock()
				elected = append(elected, term.Token())
			},
		})).run()
		var registering sync.WaitGroup
		for range goroutines {
			registering.Go(func() {
				time.Sleep(rand.N(changes * apart))
				var seen []uint64
				stop := p.OnLeader(func(ctx context.Context) {
					term, _ := election.TermFrom(ctx)
					mu.Lock()
					seen = append(seen, term.Token())
					mu.Unlock()
					<-ctx.Done()
				})
				first := begun() // of those that it must see
				time.Sleep(rand.N(changes * apart))
				end := begun() - 1 // the last of them may not have come to its callbacks
				stop()
				time.Sleep(time.Nanosecond) // until what was started has begun
				mu.Lock()
				defer mu.Unlock()
				must, may := elected[min(first, end):end], elected[max(first-1, 0):]
				if !within(must, seen) || !within(seen, may) {
					t.Errorf("saw %d terms, want all of %d and one of each", len(seen), len(must))
				}
			})
		}
		for range changes {
			term := p.leads()
			time.Sleep(apart)
			term.Resign(nil)
		}
		registering.Wait()
	})
}

// within tells whether part is one stretch of whole.
func within(part, whole []uint64) bool {
	if len(part) == 0 {
		return true
	}
	at := slices.Index(whole, part[0])
	return at >= 0 && at+len(part) <= len(whole) && slices.Equal(part, whole[at:at+len(part)])
}

func TestOnLeader_Panics(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
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
		b := c.replica("b", 0, election.WithBackoff(time.Second, time.Minute))
		b.leads()
		b.stop()
		<-b.ended

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
		wantErr(t, cause, oops)
		synctest.Wait()
		if c.Node(0).Exists("{redlock}:lock:x") {
			t.Error("not released")
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestOnLeader_PanicsWhileDraining(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		p := c.candidate("a", election.WithMaxExtensions(1), election.OnLeader(func(ctx context.Context) {
			<-ctx.Done()
			panic("late")
		}))
		defer func() {
			if got, ok := recover().(*election.PanicError); !ok || got.Value != "late" {
				t.Errorf("recovered %v", got)
			}
		}()
		_ = p.Run(t.Context())
		t.Error("the panic was swallowed")
	})
}

func TestOnLeader_PanicsBesideWorkThatDoesNotStop(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		free := make(chan struct{})
		p := c.candidate("a", election.OnLeader(func(context.Context) { panic("boom") }))
		p.OnLeader(func(context.Context) { <-free })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		defer func() {
			if got, ok := recover().(*election.PanicError); !ok || got.Value != "boom" {
				t.Errorf("recovered %v", got)
			}
			if !c.Node(0).Exists("{redlock}:lock:x") {
				t.Error("released under running work")
			}
			close(free)
			time.Sleep(ttl)
		}()
		_ = p.Run(ctx)
		t.Error("the panic was swallowed")
	})
}

func TestOnLeader_PanicsWithAHandler(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var told []*election.PanicError
		var at []time.Time
		p := c.candidate("a", election.WithCooldown(cooldown),
			election.WithPanicHandler(func(e *election.PanicError) { told, at = append(told, e), append(at, time.Now()) }),
			election.OnLeader(func(context.Context) {
				if len(told) < 8 {
					panic("once more")
				}
			}))
		p.run()
		time.Sleep(time.Hour)
		p.leads()
		p.stop()
		<-p.ended
		if len(told) != 8 || told[0].Value != "once more" || len(told[0].Stack) == 0 {
			t.Fatalf("told %v", told)
		}
		want := cooldown
		for i := range told[1:] {
			if pause := at[i+1].Sub(at[i]); pause < want || pause > want+100*time.Millisecond {
				t.Errorf("panic %d came %v after the one before, want %v", i+2, pause, want)
			}
			want = min(2*want, 10*ttl)
		}
	})
}

func TestOnLeader_GoexitCountsAsAReturn(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		p := c.candidate("a", election.OnLeader(func(ctx context.Context) {
			<-ctx.Done()
			runtime.Goexit()
		})).run()
		p.leads()
		p.stop()
		<-p.ended
		if p.err != nil {
			t.Error(p.err)
		}
	})
}

func TestOnLeader_Loss(t *testing.T) {
	for name, of := range map[string]struct {
		lose     func(p *candidate)
		attempts int // of the last renewal
	}{
		"renewals exhausted": {func(p *candidate) { p.process.Hang() }, 3},
		"another's on a majority": {func(p *candidate) {
			for i := range 3 {
				if err := p.c.Node(i).Set(lockKey, "1:another:1:b"); err != nil {
					p.c.t.Fatal(err)
				}
				p.c.Node(i).SetTTL(lockKey, time.Hour)
			}
		}, 1},
		"gone on a majority": {func(p *candidate) {
			for i := range 3 {
				p.c.Node(i).Del(lockKey)
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, c *cluster) {
				var cause, ended error
				attempts := 0
				p := c.candidate("a", election.WithStandby(time.Second), election.WithHooks(election.Hooks{
					Ended:   func(_ *election.Term, cause error) { ended = cause },
					Renewed: func(_ *election.Term, n int, _ time.Duration, _ error) { attempts = n },
				}), election.OnLeader(func(ctx context.Context) { <-ctx.Done(); cause = context.Cause(ctx) }))
				term := p.run().leads()
				synctest.Wait()
				began := time.Now()
				of.lose(p)
				<-term.Context().Done()
				synctest.Wait()
				wantErr(t, cause, election.ErrLost)
				wantErr(t, ended, election.ErrLost)
				if took := time.Since(began); of.attempts == 1 && took > every {
					t.Errorf("it was seen at the renewal, and the context was done after %v", took)
				}
				if attempts != of.attempts {
					t.Errorf("%d attempts, want %d", attempts, of.attempts)
				}
			})
		})
	}
}

// The lease is renewed until the last callback has returned: a work that takes three TTLs to stop
// is never overlapped, and handed over at once when it has.
func TestOnLeader_SlowReturnAfterVoluntaryEnd(t *testing.T) {
	for name, of := range map[string]struct {
		end   func(p *candidate, term *election.Term)
		cause error
	}{
		"shutdown": {func(p *candidate, _ *election.Term) { p.stop() }, election.ErrStopped},
		"resign":   {func(_ *candidate, term *election.Term) { term.Resign(nil) }, election.ErrResigned},
		"tenure":   {func(*candidate, *election.Term) { time.Sleep(ttl) }, election.ErrResigned},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, c *cluster) {
				a := c.replica("a", 3*ttl, election.WithDrainTimeout(10*ttl), election.WithMaxTenure(2*ttl, 0))
				term := a.leads()
				b := c.replica("b", 0)
				time.Sleep(ttl)
				of.end(a, term)
				time.Sleep(2 * ttl)
				if a.IsLeader() || !term.Valid() || term.Context().Err() != nil {
					t.Error("while it drains a term is valid, its context goes on, and nobody is called leader")
				}
				if l, err := b.Leader(t.Context()); err != nil || l.ID != "a" {
					t.Errorf("the leader is %+v, %v", l, err)
				}
				<-term.Context().Done()
				wantErr(t, context.Cause(term.Context()), of.cause)
				returned := time.Now()
				b.leads()
				if took := time.Since(returned); took > 10*time.Millisecond {
					t.Errorf("handed over in %v", took)
				}
				if got := c.spans(); len(got) != 1 || got[0].till.Sub(got[0].done) != 3*ttl {
					t.Errorf("terms %v", got)
				}
			})
		})
	}
}

func TestOnLeader_SlowReturnAfterLoss(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var inside, calls atomic.Int32
		late := 0
		p := c.candidate("a", election.WithHooks(election.Hooks{
			Drained: func(_ *election.Term, _ time.Duration, l bool) {
				if l {
					late++
				}
			},
		}), election.OnLeader(func(ctx context.Context) {
			calls.Add(1)
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d at once", n)
			}
			<-ctx.Done()
			time.Sleep(5 * ttl) // long after the lease is lost
			inside.Add(-1)
		})).run()
		p.leads()
		p.process.Cut()
		time.Sleep(ttl + ttl/10)
		if err := p.Check(); !errors.Is(err, election.ErrUndrained) {
			t.Errorf("work outlives its lease, and the check says %v", err)
		}
		p.process.Heal()
		time.Sleep(2 * ttl)
		if p.IsLeader() || calls.Load() != 1 {
			t.Error("leads again beside the work of the last term")
		}
		p.leads()
		synctest.Wait()
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls", n)
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		p.stop()
		<-p.ended
		if late != 2 {
			t.Errorf("%d terms of two were told as late", late)
		}
		time.Sleep(5 * ttl)
	})
}

// Two processes whose callbacks return long after their leases are over: in one process there are never
// two at once, and the next process begins the margin after the context of the first was done, or later.
func TestOnLeader_ReelectionWhileThePreviousCallbackStillRuns(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		type life struct{ from, done, till time.Time }
		var mu sync.Mutex // guards lives
		lives := make(map[string][]life)
		var all []*candidate
		for _, id := range []string{"a", "b"} {
			all = append(all, c.candidate(id, election.OnLeader(func(ctx context.Context) {
				l := life{from: time.Now()}
				<-ctx.Done()
				l.done = time.Now()
				time.Sleep(2 * ttl)
				l.till = time.Now()
				mu.Lock()
				defer mu.Unlock()
				lives[id] = append(lives[id], l)
			})).run())
		}
		for range 6 {
			p := leader(all...)
			time.Sleep(every)
			p.process.Cut()
			time.Sleep(ttl)
			p.process.Heal()
		}
		for _, p := range all {
			p.stop()
			<-p.ended
		}
		time.Sleep(3 * ttl)
		mu.Lock()
		defer mu.Unlock()
		var terms []life
		for id, of := range lives {
			for i, l := range of {
				if i > 0 && l.from.Before(of[i-1].till) {
					t.Errorf("%s ran beside itself", id)
				}
				terms = append(terms, l)
			}
		}
		slices.SortFunc(terms, func(a, b life) int { return a.from.Compare(b.from) })
		for i := 1; i < len(terms); i++ {
			if gap := terms[i].from.Sub(terms[i-1].done); gap < margin {
				t.Errorf("a term began %v after the context of the one before was done", gap)
			}
		}
		if len(terms) < 6 || len(lives) != 2 {
			t.Errorf("%d terms of %d processes", len(terms), len(lives))
		}
	})
}

func TestOnLeader_NeverReturns(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		free := make(chan struct{})
		var calls atomic.Int32
		p := c.candidate("a", election.WithDrainTimeout(time.Second),
			election.OnLeader(func(context.Context) { calls.Add(1); <-free })).run()
		p.leads()
		p.stop()
		<-p.ended
		wantErr(t, p.err, election.ErrUndrained)
		p.run()
		time.Sleep(5 * ttl)
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls", n)
		}
		p.stop() // while it waits
		<-p.ended
		wantErr(t, p.err, election.ErrUndrained)
		p.run()
		close(free)
		p.leads()
	})
}

func TestOnLeader_LossBetweenWinningAndStarting(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		// Renewing every 4.5 s and 5 s of margin leave 4.9 s before the stop deadline.
		p := c.candidate("a", election.WithStopMargin(5*time.Second),
			election.WithRenewal(4500*time.Millisecond, 1))
		began := make(chan time.Duration, 1)
		p.OnLeader(func(ctx context.Context) {
			term, _ := election.TermFrom(ctx)
			select {
			case began <- time.Until(term.Deadline()):
			default:
			}
			<-ctx.Done()
		})
		p.run()
		if left := <-began; left < 2500*time.Millisecond {
			t.Errorf("started with %v left", left)
		}
	})
}

func TestOnLeader_RunsContextDoneAsFollower(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		b := c.candidate("b", election.OnLeader(func(context.Context) { t.Error("called") })).run()
		time.Sleep(ttl)
		b.stop()
		<-b.ended
	})
}

func TestOnLeader_RunsContextDoneAsLeader(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "v"))
		var cause error
		var value any
		a := c.candidate("a", election.OnLeader(func(ctx context.Context) {
			value = ctx.Value(key{})
			<-ctx.Done()
			cause = context.Cause(ctx)
		}))
		time.AfterFunc(ttl, func() { cancel(enough) })
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
		wantErr(t, cause, election.ErrStopped, enough)
		if value != "v" {
			t.Errorf("value %v", value)
		}
	})
}

type key struct{}

func TestOnLeader_Stop(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		p := c.candidate("a", election.WithMaxExtensions(2))
		calls := 0
		var stop func()
		stop = p.OnLeader(func(ctx context.Context) {
			calls++
			stop() // from inside
			<-ctx.Done()
		})
		other := 0
		p.OnLeader(func(ctx context.Context) { other++; <-ctx.Done() })
		p.run()
		p.leads()
		synctest.Wait()
		if !p.IsLeader() {
			t.Error("the term ended")
		}
		time.Sleep(10 * ttl)
		p.stop()
		<-p.ended
		if calls != 1 || other < 5 {
			t.Errorf("called %d times, the other one %d times", calls, other)
		}
	})
}

func TestOnLeader_WithoutAnyLockHeld(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var p *candidate
		done := make(chan struct{})
		p = c.candidate("a", election.OnLeader(func(ctx context.Context) {
			p.OnLeader(func(context.Context) {})()
			term, ok := election.TermFrom(ctx)
			current, leads := p.Term()
			if !ok || !leads || term != current || !p.IsLeader() || p.Check() != nil ||
				p.Name() != "x" || p.Locker() != p.locker {
				t.Error("the callback's view of its own term is wrong")
			}
			l, err := p.Leader(ctx)
			if err != nil || l.ID != "a" || l.Value != "at a" || l.Token != term.Token() {
				t.Errorf("the leader is %+v, %v", l, err)
			}
			observing, enough := context.WithCancel(ctx)
			if seen := <-p.Observe(observing); seen.ID != "a" || seen.Token != term.Token() {
				t.Errorf("observed %+v", seen)
			}
			enough()
			close(done)
			term.Resign(errors.New("enough"))
			if err := p.Shutdown(context.WithoutCancel(ctx)); err == nil {
				t.Error("a shutdown that its own callback waits for cannot drain")
			}
		}), election.WithDrainTimeout(time.Second))
		p.run()
		<-done
		<-p.ended
	})
}

func TestOnLeader_PanicsBetweenTheDrainAndTheEndOfRun(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		free := make(chan struct{})
		p := c.candidate("a", election.WithDrainTimeout(time.Second),
			election.WithHooks(election.Hooks{Observed: func(election.Leader) { <-free }}), // it holds Run up
			election.OnLeader(func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(ttl)
				panic("late")
			}))
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

func TestOnLeader_PanicCoolsDownForTheCooldownAtLeast(t *testing.T) {
	for name, lag := range map[string]time.Duration{"in time": 0, "late": ttl} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *cluster) {
				const long = 20 * ttl
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
				time.Sleep(10 * long)
				p.stop()
				<-p.ended
				for i := 1; i < len(at); i++ {
					if pause := at[i].Sub(at[i-1]) - lag; pause < long {
						t.Errorf("panic %d came %v after the one before, with a cooldown of %v", i+1, pause, long)
					}
				}
				if len(at) < 5 {
					t.Errorf("%d panics", len(at))
				}
			})
		})
	}
}
