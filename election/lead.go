package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/doing"
	"github.com/redlockfx/redlockfx/redlock"
)

// lead runs a term from its start until its lease is released or abandoned. It returns why the term ended, and whether all
// callbacks have returned.
func (e *Elector) lead(r *run, lease *redlock.Lease, renewals <-chan renewal) (cause error, drained bool) {
	t := newTerm(r.stopping, e, lease)
	stop := context.AfterFunc(r.stopping, func() { t.end(r.whyStopping()) })
	defer stop()
	defer func() { // has an effect only if a hook or the logger panicked or called Goexit: callbacks may still run then
		t.lose(fmt.Errorf("%w: a panic or runtime.Goexit ended Run", ErrStopped))
		t.lease.Abandon()
	}()
	e.callApp(func() {
		e.log.Info("this replica leads", zap.Uint64("term", t.Token()), zap.Time("until", t.Deadline()))
		for _, h := range e.config.hooks {
			h.Elected(t)
		}
	})
	if r.stopping.Err() != nil {
		t.end(r.whyStopping()) // AfterFunc's goroutine might do that only after begin
	}
	e.begin(t)
	e.watch(t, renewals)
	cause = context.Cause(t.work) // the first cause
	e.callApp(func() {
		for _, h := range e.config.hooks {
			h.Ended(t, cause)
		}
	})

	// The next leader may start the moment Release returns. So the work must stop before the lease is released.
	began := time.Now()
	drained = e.drain(r, t, renewals)
	late := !drained || !time.Now().Before(t.lease.Deadline())
	t.lose(cause)
	var problem error
	switch {
	case !drained:
		problem = e.undrained()
		t.lease.Abandon()
	case r.panicked.Load() != nil:
		// The next leader may have the same bug. So it starts when the lease has run out, as after any crash, and not at once.
		t.lease.Abandon()
	default:
		problem = t.lease.Release(r.stopping)
	}
	if drained {
		e.forgetTerm()
	}
	e.callApp(func() {
		e.logEnd(r, t, cause, problem)
		for _, h := range e.config.hooks {
			h.Drained(t, time.Since(began), late)
		}
	})
	return cause, drained
}

// watch returns when the term has been asked to end or is lost. It reports the renewals of the lease, which go on until the
// release. A failed renewal does not end the term before its stop deadline.
func (e *Elector) watch(t *Term, renewals <-chan renewal) {
	tenure := e.config.tenure()
	for {
		select {
		case <-t.work.Done():
			for len(renewals) > 0 { // of before; one of them may have found the lease lost
				e.renewed(t, <-renewals)
			}
			return
		case <-tenure:
			t.end(fmt.Errorf("%w: its tenure is over", ErrResigned))
		case n := <-renewals:
			e.renewed(t, n)
		}
	}
}

// drain waits for the work of the term to return, while the lease is renewed. When the time to drain is over, it ends the term's
// own context too, and waits for the stop margin. It returns false if some work is still running.
func (e *Elector) drain(r *run, t *Term, renewals <-chan renewal) bool {
	idle := e.whenIdle()
	if e.awaitIdle(t.Context(), r, t, renewals) {
		return true
	}
	t.lose(fmt.Errorf("%w: the time to drain is over", context.Cause(t.work)))
	select {
	case <-idle:
	case <-time.After(min(e.config.StopMargin, time.Until(t.lease.Deadline()))):
	}
	return isDone(idle)
}

// awaitIdle waits until no work is running, and returns true. It returns false when ctx ends or Shutdown has no more time. It logs
// what it waits for.
func (e *Elector) awaitIdle(ctx context.Context, r *run, t *Term, renewals <-chan renewal) bool {
	began, idle, notice := time.Now(), e.whenIdle(), time.After(doing.Soon)
	for {
		select {
		case n := <-renewals:
			e.renewed(t, n)
			continue
		case <-notice:
			e.callApp(func() {
				e.log.Info("draining: waiting for work to return", zap.Uint64("term", t.Token()),
					zap.Strings("running", e.awaited()), zap.Time("until", began.Add(e.config.DrainTimeout)))
			})
			notice = time.After(doing.Often)
			continue
		case <-r.aborting.Done():
			if !isDone(idle) {
				e.callApp(func() {
					e.log.Warn("the drain is cut short: Shutdown has no more time", zap.Uint64("term", t.Token()),
						zap.Duration("after", time.Since(began)), zap.Duration("drain_timeout", e.config.DrainTimeout),
						zap.Strings("running", e.awaited()))
				})
			}
		case <-idle:
		case <-ctx.Done():
		}
		return isDone(idle)
	}
}

// renewed reports a renewal.
func (e *Elector) renewed(t *Term, n renewal) {
	e.callApp(func() {
		if n.err != nil && !errors.Is(n.err, redlock.ErrLost) {
			e.log.Warn("failed to renew the lease, retrying until the stop deadline", zap.Uint64("term", t.Token()),
				zap.Int("attempts", n.attempts), zap.Time("stop_deadline", t.Deadline()), zap.Error(n.err))
		}
		for _, h := range e.config.hooks {
			h.Renewed(t, n.attempts, n.took, n.err)
		}
	})
}
