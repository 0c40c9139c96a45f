package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

// loop goes from state to state, each a function that returns when the state is over.
func (e *Elector) loop(r *run) error {
	for panics := 0; ; {
		idle := e.await(r)
		late := e.passPanics()
		if !idle {
			return e.undrained()
		}
		if late {
			panics++
			e.cool(r, nil, panics)
		}
		won := e.follow(r)
		if won.lease == nil {
			return nil
		}
		cause, drained := e.lead(r, won)
		inARow := 0
		if e.passPanics() {
			panics++
			inARow = panics
		} else if drained {
			panics = 0
		}
		if !drained && r.asked.Err() != nil {
			return e.undrained()
		}
		e.cool(r, cause, inARow)
	}
}

// await returns when no callback of an earlier term is running any more: one callback never runs
// twice at a time, and a process with work left over from one term is not fit for another. false:
// Run must end before.
func (e *Elector) await(r *run) bool {
	e.waits()
	e.mu.Lock()
	idle := e.idleLocked()
	e.mu.Unlock()

	select {
	case <-idle.Done():
	case <-r.asked.Done():
		timeout := time.NewTimer(e.config.drainTimeout)
		defer timeout.Stop()
		select {
		case <-idle.Done():
		case <-timeout.C:
			return false
		case <-r.hurry.Done():
			return false
		}
	}
	e.forgetTerm()
	return true
}

// candidacy is a lease that was won, and what will be told of its extensions.
type candidacy struct {
	lease    *redlock.Lease
	renewals chan renewal
}

// renewal is what came of one extension of the lease.
type renewal struct {
	attempts int
	took     time.Duration
	err      error
}

// follow campaigns until it has a lease with time left to lead; none when told to stop.
func (e *Elector) follow(r *run) candidacy {
	last := ""
	told := func(took time.Duration, err error) {
		e.alive(0)
		if err != nil && r.asked.Err() == nil {
			last = e.logAttempt(err, last)
		}
		e.config.hooks.attempt(took, err)
		e.waits()
	}
	for failures := 0; r.asked.Err() == nil; {
		e.waits()
		renewals := make(chan renewal, 8)
		lease, err := e.locker.Acquire(r.asked, e.name, redlock.WithLeaseTTL(e.config.ttl),
			redlock.WithValue(e.config.announce()), redlock.WithYield(e.config.standby),
			redlock.WithBackoff(e.config.backoff.Min, e.config.backoff.Max), redlock.WithAttempts(told),
			redlock.WithAutoExtend(redlock.Extension{
				Every: e.config.every, Attempts: e.config.attempts,
				Told: func(attempts int, took time.Duration, err error) {
					select {
					case renewals <- renewal{attempts, took, err}:
					default: // a hook holds the loop up: then it hears of fewer
					}
				},
			}))
		e.alive(e.nodeTimeout() + e.config.backoff.Max)
		if err == nil {
			if time.Until(lease.Deadline()) > e.config.enough() {
				return candidacy{lease, renewals}
			}
			// A pause since the request has eaten the lease: nothing starts on what is left.
			err = errors.Join(errors.New("too little was left of a lease that was won"),
				lease.Release(r.asked))
			last = e.logAttempt(err, last)
		}
		failures++
		_ = retry.Sleep(r.asked, e.config.backoff.After(failures)) // the loop looks at asked itself
	}
	return candidacy{}
}

// lead is a term from its start to its release, or to where it is abandoned because callbacks have
// not returned: then it is not drained. cause is why it ended.
func (e *Elector) lead(r *run, won candidacy) (cause error, drained bool) {
	t := newTerm(r.asked, won, e.config.margin, e.locker.Clock())
	stop := context.AfterFunc(r.asked, func() { t.end(context.Cause(r.asked)) })
	defer stop()
	looked := false
	defer func() {
		if !looked { // a hook or the logger has panicked, or ended the goroutine
			t.lose(fmt.Errorf("%w: Run has ended by a panic or runtime.Goexit", ErrStopped))
			t.lease.Abandon() // the callbacks may still run
		}
	}()
	e.logWon(t)
	e.config.hooks.elected(t)
	e.begin(t)

	e.reign(t)
	cause = context.Cause(t.work) // whatever ended it first
	e.config.hooks.ended(t, cause)

	// Whoever leads next may start the moment Release returns, so the order is: the work stops,
	// and only then the lease is released.
	began := time.Now()
	drained = e.drain(r, t)
	late := !drained || !time.Now().Before(t.lease.Deadline())
	t.lose(cause)
	var problem error
	if drained {
		problem = t.lease.Release(r.asked)
		e.forgetTerm()
	} else {
		t.lease.Abandon()
		problem = e.undrained()
	}
	looked = true
	e.logEnd(t, cause, problem)
	e.config.hooks.drained(t, time.Since(began), late)
	return cause, drained
}

// reign returns when the term is asked to end or is lost. The lease is extended meanwhile, and
// afterwards, until it is released: here it is seen how that goes. An extension that fails is no end
// while the stop deadline has not come.
func (e *Elector) reign(t *Term) {
	tenure := e.config.tenure()
	for extensions := 0; ; {
		e.alive(2 * e.config.ttl)
		select {
		case <-t.work.Done():
			e.renewedBefore(t)
			return
		case <-tenure:
			t.end(fmt.Errorf("%w: its tenure is over", ErrResigned))
		case n := <-t.renewals:
			e.renewed(t, n)
			if n.err == nil {
				extensions++
			}
			if extensions == e.config.maxExtensions {
				t.end(fmt.Errorf("%w: after %d extensions", ErrResigned, extensions))
			}
		}
	}
}

// drain waits for the callbacks to return, while the lease is extended. When their time is over it
// ends the term's own context too, and they have the stop margin. false: they still run.
func (e *Elector) drain(r *run, t *Term) bool {
	e.mu.Lock()
	idle := e.idleLocked()
	e.mu.Unlock()
	e.alive(e.config.drainTimeout)

	timeout := time.NewTimer(e.config.drainTimeout)
	defer timeout.Stop()
	for over := false; !over; {
		select {
		case <-idle.Done():
			return true
		case n := <-t.renewals:
			e.renewed(t, n)
		case <-t.Context().Done():
			over = true
		case <-timeout.C:
			over = true
		case <-r.hurry.Done():
			over = true
		}
	}
	t.lose(fmt.Errorf("%w: the time to drain is over", context.Cause(t.work)))
	grace := time.NewTimer(min(e.config.margin, time.Until(t.lease.Deadline())))
	defer grace.Stop()
	select {
	case <-idle.Done():
	case <-grace.C:
	}
	return idle.Err() != nil
}

func (e *Elector) renewed(t *Term, n renewal) {
	if n.err != nil && !errors.Is(n.err, redlock.ErrLost) {
		e.logRenewal(t, n.attempts, n.err)
	}
	e.config.hooks.renewed(t, n)
}

// renewedBefore tells of the renewals before the end of the term, of which one may have found it lost.
func (e *Elector) renewedBefore(t *Term) {
	for {
		select {
		case n := <-t.renewals:
			e.renewed(t, n)
		default:
			return
		}
	}
}

// cool does not campaign for a while after a term that the leader gave up by itself, so that somebody
// else gets the lock, if there is anybody; and for twice as long after each panic that follows a panic.
func (e *Elector) cool(r *run, cause error, panics int) {
	var pause time.Duration
	switch {
	case panics > 0:
		pause = e.config.cooldown
		for most := 10 * e.config.ttl; panics > 1 && pause > 0 && pause < most; panics-- {
			pause = min(2*pause, most)
		}
	case errors.Is(cause, ErrResigned):
		pause = e.config.cooldown
	default:
		return
	}
	e.alive(pause)
	_ = retry.Sleep(r.asked, pause) // the loop looks at asked itself
}

// forgetTerm is called when all callbacks of the term have returned.
func (e *Elector) forgetTerm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = nil
}

// passPanics hands the callbacks' panics on: to the handler, or else it panics with the first. By then
// the lease is released or abandoned. It tells whether there were any.
func (e *Elector) passPanics() bool {
	e.mu.Lock()
	panics := e.panics
	e.panics = nil
	e.mu.Unlock()
	for _, p := range panics {
		if e.config.onPanic == nil {
			panic(p)
		}
		e.config.onPanic(p)
	}
	return len(panics) > 0
}

// alive says by when the loop will have moved on, with two TTLs to spare: a margin is shorter than one.
func (e *Elector) alive(within time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.beat = time.Now().Add(within).Add(2 * e.config.ttl) // no sum: within may be as long as time is
}

// waits says that the loop waits for others, for as long as they please: for callbacks, or to win. A
// holder's lease, a guard, or those of this process who want the same lock may take longer than any
// setting of this Elector tells.
func (e *Elector) waits() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.beat = time.Time{}
}
