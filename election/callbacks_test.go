package election_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

func TestOnLeader_EachRunsOnceInEveryTerm(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var a, b, early atomic.Int32
		count := func(n *atomic.Int32) func(context.Context) {
			return func(ctx context.Context) { n.Add(1); <-ctx.Done() }
		}
		p := c.candidate("a", election.WithMaxExtensions(2), election.OnLeader(count(&a)))
		p.OnLeader(count(&b))
		p.OnLeader(func(context.Context) { early.Add(1) }) // an early return keeps the term
		p.run()
		for range 4 {
			term := p.leads()
			time.Sleep(every)
			if !p.IsLeader() {
				t.Error("the early return ended the term")
			}
			<-term.Context().Done()
		}
		p.stop()
		<-p.ended
		if a.Load() < 4 || a.Load() != b.Load() || a.Load() != early.Load() {
			t.Errorf("called %d, %d and %d times in at least 4 terms", a.Load(), b.Load(), early.Load())
		}
	})
}

func TestOnLeader_RegisteredLateRunsAtOnceInTheCurrentTerm(t *testing.T) {
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
		stop()

		p.stop()
		time.Sleep(time.Millisecond) // it drains now
		p.OnLeader(func(context.Context) { t.Error("called while draining") })
		<-p.ended
	})
}

func TestOnLeader_RegisteredAroundAChangeSeesEachLaterTermOnce(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		p := c.replica("a", 0, election.WithMaxExtensions(1))
		var wrong, calls atomic.Int32
		for range 500 {
			var last *election.Term
			p.OnLeader(func(ctx context.Context) { // never beside itself, so last needs no lock
				term, _ := election.TermFrom(ctx)
				if term == last {
					wrong.Add(1)
				}
				last = term
				calls.Add(1)
				<-ctx.Done()
			})
			time.Sleep(ttl / 200)
		}
		first := p.leads()
		<-first.Context().Done()
		second := p.leads()
		synctest.Wait()
		before := calls.Load()
		<-second.Context().Done()
		p.leads()
		synctest.Wait()
		if got := calls.Load() - before; wrong.Load() != 0 || got != 500 {
			t.Errorf("%d of 500 were called in the next term, %d of all calls came twice", got, wrong.Load())
		}
	})
}

func TestOnLeader_StopEndsOnlyThatCallback(t *testing.T) {
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

func TestOnLeader_NeverTwiceAtOnce(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var inside, calls atomic.Int32
		p := c.candidate("a", election.OnLeader(func(ctx context.Context) {
			calls.Add(1)
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d at once", n)
			}
			<-ctx.Done()
			time.Sleep(5 * ttl) // long after the lease is lost
			inside.Add(-1)
		})).run()
		p.leads()
		p.links.Cut()
		time.Sleep(ttl + ttl/10)
		if err := p.Check(); !errors.Is(err, election.ErrUndrained) {
			t.Errorf("work outlives its lease, and the check says %v", err)
		}
		p.links.Heal()
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
		time.Sleep(5 * ttl)
	})
}

func TestOnLeader_WorkLeftOverFromOneRunKeepsTheNextFromLeading(t *testing.T) {
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

func TestOnLeader_PanicDrainsReleasesAndGoesOn(t *testing.T) {
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

func TestOnLeader_PanicWhileDrainingIsNotLost(t *testing.T) {
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

func TestOnLeader_PanicBesideWorkThatDoesNotStopIsNotLost(t *testing.T) {
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

func TestOnLeader_MayUseTheWholeAPI(t *testing.T) {
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
			close(done)
			if err := p.Shutdown(context.WithoutCancel(ctx)); err == nil {
				t.Error("a shutdown that its own callback waits for cannot drain")
			}
		}), election.WithDrainTimeout(time.Second))
		p.run()
		<-done
		<-p.ended
	})
}

func TestOnLeader_NothingIsCalledInAFollower(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		b := c.candidate("b", election.OnLeader(func(context.Context) { t.Error("called") })).run()
		time.Sleep(ttl)
		b.stop()
		<-b.ended
	})
}

func TestRun_StartsNothingOnTheRestOfALease(t *testing.T) {
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
