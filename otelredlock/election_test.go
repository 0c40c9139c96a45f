package otelredlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

const (
	leader      = "redlock.election.leader{redlock.election.name=billing}"
	validity    = "redlock.lease.validity{redlock.election.name=billing}"
	renewals    = "redlock.lease.renew.duration{redlock.election.name=billing}"
	transitions = "redlock.election.transitions{redlock.election.name=billing,redlock.transition="
)

// The sum over all processes is 1, or 0 while nobody leads. It is never absent.
func TestLeader_IsCountedFromItsElectionToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithTTL(ttl))
		a, b := newReplica(t, nodes), newReplica(t, nodes)
		wantLeaders := func(wantA, wantB float64) {
			t.Helper()
			a.want(t, map[string]float64{leader: wantA})
			b.want(t, map[string]float64{leader: wantB})
		}
		wantLeaders(0, 0)
		a.run(t)
		time.Sleep(time.Second)
		b.run(t)
		time.Sleep(time.Minute)
		wantLeaders(1, 0)

		a.Cut()
		term, _ := a.elector.Term()
		time.Sleep(time.Until(term.Deadline()) - time.Millisecond)
		wantLeaders(1, 0)
		time.Sleep(2 * time.Millisecond)
		wantLeaders(0, 0)
		time.Sleep(ttl)
		wantLeaders(0, 1)

		a.Heal()
		time.Sleep(ttl) // a node that was away is dialed again within 5 s; then it is notified of releases again
		b.stop()
		time.Sleep(time.Second)
		wantLeaders(1, 0)
		a.want(t, map[string]float64{transitions + "elected}": 2, transitions + "expired}": 1})
		b.want(t, map[string]float64{transitions + "elected}": 1, transitions + "stopped}": 1})
	})
}

// If a hook blocks, the end of the term is not reported, but the metric shows it.
func TestLeader_IsNoneOnceItsTermIsNotValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithTTL(ttl))
		tel := newTelemetry(t)
		hooks := tel.ElectionHooks("billing")
		renewed, held := hooks.Renewed, make(chan struct{})
		hooks.Renewed = func(term *election.Term, attempts int, took time.Duration, err error) {
			renewed(term, attempts, took, err)
			<-held
		}
		r := nodes.Replica(election.WithHooks(hooks))
		r.Lead()
		time.Sleep(ttl / 2)
		tel.want(t, map[string]float64{leader: 1})
		r.Cut()
		time.Sleep(2 * ttl)
		tel.want(t, map[string]float64{leader: 0, validity: 0})
		close(held)
	})
}

func TestRenewals_AreTimedAndTellWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithTTL(ttl))
		r := newReplica(t, nodes)
		r.want(t, map[string]float64{validity: 0})
		r.run(t)
		time.Sleep(5*ttl - time.Millisecond)
		got := r.collect(t)
		if n := got[renewals]; n < 12 || n > 15 {
			t.Errorf("%v renewals in five TTLs, three in each", n)
		}
		if left := got[validity]; left < 7.8 || left > 8 {
			t.Errorf("%vs were left after a renewal, want about 7.9", left)
		}

		r.Cut(0, 1)
		const failed = "redlock.lease.renew.duration{error.type=no_quorum,redlock.election.name=billing}"
		for r.elector.IsLeader() && got[failed] == 0 {
			time.Sleep(time.Millisecond)
			got = r.collect(t)
		}
		if left := got[validity]; got[failed] != 1 || left <= 0 || left > 5 {
			t.Errorf("%vs were left after %v renewals that failed", left, got[failed])
		}
	})
}

// TestLeader_IsCountedFromItsElectionToItsEnd shows the other ends: stopped and expired.
func TestTransitions_TellHowTermsEnd(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *redlocktest.Nodes, *replica){
		"resigned": func(_ *testing.T, _ *redlocktest.Nodes, r *replica) { term, _ := r.elector.Term(); term.Resign(nil) },
		"lost": func(_ *testing.T, nodes *redlocktest.Nodes, _ *replica) {
			for i := range 3 {
				nodes.Wipe(i)
			}
		},
		"panic": func(_ *testing.T, _ *redlocktest.Nodes, r *replica) {
			r.elector.OnLeader(func(context.Context) { panic("boom") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes := redlocktest.New(t, 3, redlock.WithTTL(ttl))
				r := newReplica(t, nodes, election.WithPanicHandler(func(*election.PanicError) {}),
					election.WithCooldown(time.Minute))
				r.run(t)
				time.Sleep(time.Second)
				test(t, nodes, r)
				time.Sleep(ttl)
				r.want(t, map[string]float64{
					transitions + "elected}": 1, transitions + name + "}": 1, leader: 0, validity: 0,
				})
			})
		})
	}
}
