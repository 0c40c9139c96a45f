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
	for {
		idle := e.await(r)
		e.passPanic()
		if !idle {
			return e.undrained()
		}
		lease := e.follow(r)
		if lease == nil {
			return nil
		}
		drained := e.lead(r, lease)
		e.passPanic()
		if !drained && r.asked.Err() != nil {
			return e.undrained()
		}
	}
}

// await returns when no callback of an earlier term is running any more: one callback never runs
// twice at a time, and a process with work left over from one term is not fit for another. false:
// Run must end before.
func (e *Elector) await(r *run) bool {
	e.mu.Lock()
	idle := e.idleLocked()
	e.beat = time.Time{}
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

// follow campaigns until it has a lease with time left to lead; nil when told to stop.
func (e *Elector) follow(r *run) *redlock.Lease {
	last, failures := "", 0
	for r.asked.Err() == nil {
		e.alive(e.config.every + e.nodeTimeout() + e.config.backoff.Max)
		ctx, cancel := context.WithTimeout(r.asked, e.config.every)
		lease, err := e.locker.Acquire(ctx, e.name,
			redlock.WithLeaseTTL(e.config.ttl), redlock.WithValue(e.config.announce()))
		cancel()
		if err == nil {
			if time.Until(lease.Deadline()) > e.config.enough() {
				return lease
			}
			// A pause since the request has eaten the lease: nothing starts on what is left.
			err = errors.Join(errors.New("too little was left of a lease that was won"),
				lease.Release(r.asked))
		}
		if r.asked.Err() != nil {
			return nil
		}

		last = e.logAttempt(err, last)
		if errors.Is(err, context.DeadlineExceeded) {
			failures = 0 // Acquire has waited, and spaced its attempts
			continue
		}
		failures++
		_ = retry.Sleep(r.asked, e.config.backoff.After(failures)) // the loop looks at asked itself
	}
	return nil
}

// lead is a term from its start to its release, or to where it is abandoned because callbacks have
// not returned: then it returns false.
func (e *Elector) lead(r *run, lease *redlock.Lease) (drained bool) {
	t := newTerm(r.asked, lease, e.config.margin)
	stop := context.AfterFunc(r.asked, func() { t.end(context.Cause(r.asked)) })
	defer stop()
	e.logWon(t)
	e.begin(t)

	t.end(e.renew(t.work, t, e.config.maxExtensions))
	cause := context.Cause(t.work) // whatever ended it first

	// Whoever leads next may start the moment Release returns, so the order is: the work stops,
	// and only then the lease is released.
	drained = e.drain(r, t)
	t.lose(cause)
	if !drained {
		lease.Abandon()
		e.logEnd(t, cause, e.undrained())
		return false
	}
	e.logEnd(t, cause, lease.Release(r.asked))
	e.forgetTerm()
	return true
}

// drain waits for the callbacks to return and renews the lease meanwhile. When their time is over
// it ends the term's own context too, and they have the stop margin. false: they still run.
func (e *Elector) drain(r *run, t *Term) bool {
	e.mu.Lock()
	idle := e.idleLocked()
	e.mu.Unlock()

	ctx, cancel := context.WithTimeout(t.Context(), e.config.drainTimeout)
	defer cancel()
	defer context.AfterFunc(r.hurry, cancel)()
	defer context.AfterFunc(idle, cancel)()
	_ = e.renew(ctx, t, 0) // why it ended is seen below
	if idle.Err() != nil {
		return true
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

// renew renews the lease until ctx is done, the lease is lost, or most renewals are made (no bound
// if zero), and returns why. A renewal that fails is no end while the stop deadline has not come.
func (e *Elector) renew(ctx context.Context, t *Term, most int) error {
	for n := 0; ; {
		e.alive(2 * e.config.ttl)
		if err := retry.Sleep(ctx, e.config.every); err != nil {
			return err
		}
		calls, err := retry.Within(ctx, t.Deadline(), e.config.attempts, e.pause(), t.lease.Extend,
			redlock.ErrLost, redlock.ErrExpired, redlock.ErrClosed)
		switch {
		case err == nil:
			n++
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, redlock.ErrNoQuorum), errors.Is(err, context.DeadlineExceeded):
			e.logRenewal(t, calls, err)
		default:
			t.lose(fmt.Errorf("%w: %w", ErrLost, err))
			return context.Cause(t.Context())
		}
		if most > 0 && n == most {
			return fmt.Errorf("%w: after %d extensions", ErrResigned, n)
		}
	}
}

// pause is what lies between the attempts of one renewal.
func (e *Elector) pause() retry.Backoff {
	return retry.Backoff{
		Min: min(e.config.backoff.Min, e.config.every/10), Max: min(e.config.backoff.Max, e.config.every/2),
	}
}

// forgetTerm is called when all callbacks of the term have returned.
func (e *Elector) forgetTerm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = nil
}

// passPanic panics if a callback has. By then the lease is released or abandoned.
func (e *Elector) passPanic() {
	e.mu.Lock()
	p := e.panicked
	e.panicked = nil
	e.mu.Unlock()
	if p != nil {
		panic(p)
	}
}

// alive says by when the loop will have moved on, with a TTL to spare.
func (e *Elector) alive(within time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.beat = time.Now().Add(within + e.config.ttl)
}
