package election_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestRun_OneOfManyLeads(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var all []*candidate
		for i := range 5 {
			all = append(all, c.replica(fmt.Sprint("pod-", i), 0))
		}
		first := leader(all...)
		time.Sleep(10 * ttl)
		for _, p := range all {
			if p.IsLeader() != (p == first) {
				t.Errorf("%s leads: %v", p.Name(), p.IsLeader())
			}
			if err := p.Check(); err != nil {
				t.Error(err)
			}
		}
		if got := c.spans(); len(got) != 0 {
			t.Errorf("the leader changed: %v", got)
		}
	})
}

func TestRun_StopHandsOverAtOnce(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		b := c.replica("b", 0)
		time.Sleep(2 * ttl)
		stopped := time.Now()
		a.stop()
		<-a.ended
		if a.err != nil || a.IsLeader() {
			t.Errorf("Run returned %v", a.err)
		}
		b.leads()
		if took := time.Since(stopped); took > nodeTimeout {
			t.Errorf("the next one led after %v", took)
		}
		c.spans()
	})
}

func TestRun_KilledLeaderIsReplacedWhenItsLeaseIsOver(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		b := c.replica("b", 0)
		time.Sleep(ttl)
		cut := time.Now()
		a.links.Cut()
		b.leads()
		if took := time.Since(cut); took > ttl+nodeTimeout {
			t.Errorf("the next one led after %v", took)
		}
		time.Sleep(ttl)
		if got := c.spans(); len(got) != 1 || got[0].who != "a" {
			t.Fatalf("terms %v", got)
		}
	})
}

// The promise that matters most: whatever happens to a leader's nodes, its context ends the margin
// before anybody else can lead.
func TestRun_ContextEndsTheMarginBeforeAnybodyElseCanLead(t *testing.T) {
	const lag = margin / 4
	for name, of := range map[string]struct {
		fault func(p *candidate)
		least time.Duration // lag, where the release that follows the work can arrive
	}{
		"cut from all":       {func(p *candidate) { p.links.Cut() }, margin},
		"cut from majority":  {func(p *candidate) { p.links.Cut(0, 1, 2) }, margin},
		"all hang":           {func(p *candidate) { p.links.Hang() }, margin},
		"majority hangs":     {func(p *candidate) { p.links.Hang(2, 3, 4) }, margin},
		"replies are lost":   {func(p *candidate) { p.links.DropReplies() }, lag},
		"slower than usable": {func(p *candidate) { p.links.Delay(nodeTimeout) }, lag},
		"majority forgets": {func(p *candidate) {
			for i := range 3 {
				p.c.Wipe(i)
			}
		}, margin},
		"cut from a majority that comes back empty": {func(p *candidate) {
			p.links.Cut(0, 1, 2)
			for i := range 3 {
				p.c.Kill(i)
				p.c.Wipe(i)
				p.c.Restart(i)
			}
		}, margin},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, c *cluster) {
				a := c.replica("a", lag, election.WithStandby(time.Second)) // so that b is the next one
				term := a.leads()
				b := c.replica("b", 0)
				time.Sleep(ttl + 7*time.Millisecond)
				of.fault(a)
				<-term.Context().Done()
				if term.Valid() || a.IsLeader() {
					t.Error("still leading")
				}
				wantErr(t, context.Cause(term.Context()), election.ErrLost)
				b.leads()
				since := time.Now()
				synctest.Wait()
				got := c.spans()
				if len(got) != 1 {
					t.Fatalf("terms %v", got)
				}
				if gap := since.Sub(got[0].done); gap < of.least {
					t.Errorf("the next one led %v after the context was done, want at least %v", gap, of.least)
				}
			})
		})
	}
}

func TestRun_StopDeadlineCountsFromTheSend(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		term := a.leads()
		c.Delay(80 * time.Millisecond)
		time.Sleep(every)
		deadline := term.Deadline()
		for term.Deadline().Equal(deadline) { // until the answers to the next renewal are in
			time.Sleep(time.Millisecond)
		}
		want := validFor - margin - 160*time.Millisecond
		if left := time.Until(term.Deadline()); left > want || left < want-time.Millisecond {
			t.Errorf("%v left when a renewal that took 160ms is in, want %v", left, want)
		}
	})
}

func TestRun_MinorityChangesNothing(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		c.Kill(0)
		c.Hang(1)
		c.replica("b", 0)
		time.Sleep(10 * ttl)
		if !a.IsLeader() || len(c.spans()) != 0 {
			t.Errorf("the leader changed: %v", c.spans())
		}
	})
}

func TestRun_RidesOutFailedRenewals(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		for range 5 {
			time.Sleep(ttl)
			a.links.Hang()
			time.Sleep(every)
			a.links.Heal()
		}
		time.Sleep(ttl)
		if !a.IsLeader() || len(c.spans()) != 0 {
			t.Errorf("the leader changed: %v", c.spans())
		}
	})
}

// counter counts how often a node is asked. One that did not answer is asked what it is before
// anything else, which is a pipeline.
type counter struct{ atomic.Int32 }

func (*counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.Add(1)
		return next(ctx, cmds)
	}
}

func (h *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.Add(1)
		return next(ctx, cmd)
	}
}

func TestRun_RenewalsAreBoundedAndSpaced(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		links := c.Links()
		options := links.Options(0)
		options.ContextTimeoutEnabled, options.MaxRetries, options.DialerRetries = true, -1, 1
		client := redis.NewClient(options)
		defer client.Close()
		asked := &counter{}
		client.AddHook(asked)
		locker, err := redlock.New([]redis.UniversalClient{client}, redlock.WithTTL(ttl))
		if err != nil {
			t.Fatal(err)
		}
		e, err := election.New(locker, "x", election.WithRenewal(every, 4))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()

		time.Sleep(every / 2)
		won := asked.Load()
		time.Sleep(10 * every)
		if got := asked.Load() - won; got != 10 {
			t.Errorf("%d extensions in ten intervals", got)
		}
		term, ok := e.Term()
		if !ok {
			t.Fatal("does not lead")
		}
		links.Cut()
		// Two renewals lie between the last that succeeded and the stop deadline.
		time.Sleep(time.Until(term.Deadline()) - time.Millisecond)
		if got := asked.Load() - won - 10; got < 5 || got > 8 {
			t.Errorf("%d attempts of two renewals, want four each, but for what comes after", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		closing, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := locker.Close(closing); err != nil {
			t.Error(err)
		}
	})
}

func TestRun_KeysTakenOrGoneOnAMajorityEndTheTermAtTheNextRenewal(t *testing.T) {
	for name, lose := range map[string]func(c *cluster){
		"gone": func(c *cluster) { c.Wipe(0); c.Wipe(1) },
		"taken": func(c *cluster) {
			for i := range 2 {
				if err := c.Node(i).Set("{redlock}:lock:x", "1:another:1:b"); err != nil {
					c.t.Fatal(err)
				}
				c.Node(i).SetTTL("{redlock}:lock:x", time.Hour)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.replica("a", 0)
				term := a.leads()
				synctest.Wait()
				lost := time.Now()
				lose(c)
				<-term.Context().Done()
				wantErr(t, context.Cause(term.Context()), election.ErrLost, redlock.ErrLost)
				if took := time.Since(lost); took > every {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestRun_ComesBackAfterAnyOutage(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		c.Kill(0)
		c.Kill(1)
		c.Kill(2)
		a := c.replica("a", 0) // down at start
		time.Sleep(time.Minute)
		if err := a.Check(); err != nil {
			t.Errorf("unhealthy for want of Redis: %v", err)
		}
		for i := range 3 {
			c.Restart(i)
		}
		a.leads()
		c.Hang()
		time.Sleep(10 * time.Minute)
		if a.IsLeader() {
			t.Error("leads through an outage")
		}
		c.Heal()
		a.leads()
		for i := range 3 {
			c.Wipe(i)
		}
		time.Sleep(2 * ttl)
		a.leads()
	})
}

func TestRun_ResignsAfterMaxExtensions(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", time.Second, election.WithMaxExtensions(3))
		term := a.leads()
		began := time.Now()
		<-term.Context().Done()
		wantErr(t, context.Cause(term.Context()), election.ErrResigned)
		if took := time.Since(began); took < 3*every || took > 3*every+time.Second+nodeTimeout {
			t.Errorf("led for %v, want three renewals and the second of draining", took)
		}
		a.leads() // it campaigns again
		time.Sleep(20 * ttl)
		if got := c.spans(); len(got) < 10 {
			t.Errorf("%d terms", len(got))
		}
	})
}

// The lease is renewed until the last callback has returned: a work that takes three TTLs to stop
// is never overlapped, and handed over at once when it has.
func TestDrain_KeepsTheLeaseUntilTheWorkHasStopped(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 3*ttl, election.WithDrainTimeout(10*ttl))
		term := a.leads()
		b := c.replica("b", 0)
		time.Sleep(ttl)
		a.stop()
		time.Sleep(2 * ttl)
		if a.IsLeader() || !term.Valid() || term.Context().Err() != nil {
			t.Error("while it drains a term is valid, its context goes on, and nobody is called leader")
		}
		if l, err := b.Leader(t.Context()); err != nil || l.ID != "a" {
			t.Errorf("the leader is %+v, %v", l, err)
		}
		<-a.ended
		released := time.Now()
		b.leads()
		if took := time.Since(released); took > nodeTimeout {
			t.Errorf("handed over in %v", took)
		}
		if got := c.spans(); len(got) != 1 || got[0].till.Sub(got[0].done) != 3*ttl {
			t.Errorf("terms %v", got)
		}
		wantErr(t, context.Cause(term.Context()), election.ErrStopped)
		if a.err != nil {
			t.Error(a.err)
		}
	})
}

func TestDrain_WorkThatDoesNotStopIsAbandoned(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		free := make(chan struct{})
		a := c.candidate("a", election.WithDrainTimeout(time.Minute),
			election.OnLeader(func(context.Context) { <-free })).run()
		term := a.leads()
		b := c.replica("b", 0)
		stopped := time.Now()
		a.stop()
		<-term.Context().Done()
		if got := time.Since(stopped); got != time.Minute {
			t.Errorf("the term's context ended after %v, want the drain timeout", got)
		}
		wantErr(t, context.Cause(term.Context()), election.ErrStopped)
		<-a.ended
		wantErr(t, a.err, election.ErrUndrained)
		wantText(t, a.err, "1 callbacks still running", "TestDrain_WorkThatDoesNotStopIsAbandoned")
		if got := time.Since(stopped); got > time.Minute+margin {
			t.Errorf("Run returned after %v", got)
		}
		if b.IsLeader() {
			t.Error("released under running work")
		}
		b.leads() // when the lease has run out
		if got := time.Since(stopped); got < time.Minute+ttl-every {
			t.Errorf("the next one led after %v", got)
		}
		close(free)
	})
}

func TestDrain_LostOnTheWayEndsTheTermsContext(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 2*ttl, election.WithDrainTimeout(10*ttl))
		term := a.leads()
		a.stop()
		time.Sleep(time.Millisecond)
		a.links.Cut()
		<-term.Context().Done()
		wantErr(t, context.Cause(term.Context()), election.ErrLost)
		if left := time.Until(term.Deadline()); left != 0 {
			t.Errorf("ended %v before the stop deadline", left)
		}
		<-a.ended
		wantErr(t, a.err, election.ErrUndrained)
		time.Sleep(2 * ttl)
	})
}

func TestShutdown_DrainsWithinItsContext(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
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
		for i := range 3 {
			if c.Node(i).Exists("{redlock}:lock:x") {
				t.Error("not released")
			}
		}
		if err := a.Shutdown(ctx); err != nil {
			t.Errorf("with nothing to stop: %v", err)
		}
		a.run().leads() // and it can run again
	})
}

func TestShutdown_OutOfTimeAbandons(t *testing.T) {
	for _, budget := range []time.Duration{0, time.Millisecond, time.Second, 5 * time.Second} {
		t.Run(budget.String(), func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.replica("a", time.Minute, election.WithDrainTimeout(time.Hour))
				term := a.leads()
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				defer cancel()
				began := time.Now()
				wantErr(t, a.Shutdown(ctx), election.ErrUndrained)
				if took := time.Since(began); took > budget {
					t.Errorf("took %v", took)
				}
				<-a.ended
				wantErr(t, a.err, election.ErrUndrained)
				if took := time.Since(began); took > budget+margin {
					t.Errorf("Run took %v", took)
				}
				if term.Valid() {
					t.Error("the term goes on")
				}
				if !c.Node(0).Exists("{redlock}:lock:x") {
					t.Error("released under running work")
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestShutdown_WhileFollowingReturnsAtOnce(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
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

func TestRun_TwiceAtOnceIsRefused(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		wantErr(t, a.Run(t.Context()), election.ErrRunning)
	})
}

func TestRun_WithADoneContextDoesNothing(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.candidate("a", election.OnLeader(func(context.Context) { t.Error("called") }))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
		if keys := c.Node(0).Keys(); !slices.Equal(keys, []string{"{redlock}:guard"}) {
			t.Errorf("left %v", keys)
		}
	})
}

func TestRun_CauseOfRunsContextReachesTheCallbacks(t *testing.T) {
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
