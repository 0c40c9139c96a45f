package election

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

// run is one call of Run.
type run struct {
	caller   context.Context // of Run
	stopping context.Context // done when told to stop, with a cause that is ErrStopped
	stop     context.CancelCauseFunc
	aborting context.Context // done when draining must end
	abort    context.CancelFunc
	done     chan struct{} // closed when Run has returned err
	err      error
}

// Run campaigns, leads and campaigns again until ctx is done or [Elector.Shutdown] is called, through any outage. Then it
// drains: it renews the lease until all callbacks have returned, for the drain timeout at most, releases it and returns nil.
// [ErrUndrained]: callbacks are still running, and the lease was abandoned. [ErrRunning]: it runs already. [ErrStopped]: a
// Shutdown came before Run. [redlock.ErrClosed]: the Locker is closed, so this process can never lead again. If a callback
// panics and there is no [WithPanicHandler], Run panics with its [PanicError] when the other callbacks have returned, or the
// time to drain is over; the lease then runs out, as after any crash.
func (e *Elector) Run(ctx context.Context) error {
	r, err := e.beginRun(ctx)
	if err != nil {
		return err
	}
	r.err = errors.New("election: Run has ended by a panic or runtime.Goexit")
	forget := context.AfterFunc(ctx, func() { r.isStopping() })
	var observing sync.WaitGroup
	observed, unobserve := context.WithCancel(context.WithoutCancel(ctx))
	if e.config.hooks.Observed != nil {
		observing.Go(func() { e.observe(observed) })
	}
	unwatch := e.logNodes()
	defer func() {
		forget()
		unwatch()
		unobserve()
		observing.Wait()
		e.endRun(r)
		e.passPanics() // of callbacks that the loop did not wait for
	}()
	r.err = e.loop(r)
	return r.err
}

func (e *Elector) beginRun(ctx context.Context) (*run, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.run != nil:
		return nil, fmt.Errorf("%w: %q", ErrRunning, e.name)
	case e.refused:
		e.refused, e.ran = false, true
		return nil, fmt.Errorf("%w: %q: Shutdown was called before Run", ErrStopped, e.name)
	}
	e.ran = true
	r := &run{caller: ctx, done: make(chan struct{})}
	base := context.WithoutCancel(ctx) // callbacks see its values
	r.stopping, r.stop = context.WithCancelCause(base)
	r.aborting, r.abort = context.WithCancel(base)
	e.run = r
	return r, nil
}

// isStopping reports that Run was told to stop, also where the goroutine that passes the end of its context on has not come to
// it yet.
func (r *run) isStopping() bool {
	if done(r.caller) {
		r.stop(fmt.Errorf("%w: %w", ErrStopped, context.Cause(r.caller)))
	}
	return done(r.stopping)
}

func (e *Elector) endRun(r *run) {
	e.mu.Lock()
	e.run = nil
	if errors.Is(r.err, redlock.ErrClosed) {
		e.failed = r.err
	}
	e.mu.Unlock()
	r.stop(ErrStopped)
	r.abort()
	close(r.done)
}

// loop goes from state to state, each a function that returns when the state is over.
func (e *Elector) loop(r *run) error {
	panics := 0 // of terms in a row
	for {
		if !e.await(r) {
			return e.undrained()
		}
		if e.passPanics() {
			panics++
			e.cool(r, panics)
		}
		lease, renewals, err := e.campaign(r)
		if lease == nil {
			return err
		}
		cause, drained := e.lead(r, lease, renewals)
		if !drained && done(r.stopping) {
			return e.undrained()
		}
		if e.passPanics() {
			panics++
			e.cool(r, panics)
			continue
		}
		if drained {
			panics = 0
		}
		if errors.Is(cause, ErrResigned) && !errors.Is(cause, errUnneeded) { // which campaigns when there is a callback, and not before
			e.cool(r, 1)
		}
	}
}

// await returns true when no work of an earlier term is running any more: a registration never runs twice at a time, and a
// process with work left over from one term is not fit for another. false: Run must end before.
func (e *Elector) await(r *run) bool {
	idle := e.waitIdle()
	select {
	case <-idle:
	case <-r.stopping.Done():
		timeout := time.NewTimer(e.config.drainTimeout)
		defer timeout.Stop()
		select {
		case <-idle:
		case <-timeout.C:
		case <-r.aborting.Done():
		}
	}
	if !isDone(idle) {
		return false
	}
	e.forgetTerm()
	return true
}

// minCooldown bounds how often a process that gives up at once is elected again, whatever the settings.
const minCooldown = 250 * time.Millisecond

// cool does not campaign for a while after a term that the leader gave up by itself, so that somebody else gets the lock, if
// there is anybody; and for twice as long after each term in a row that ended by a panic.
func (e *Elector) cool(r *run, inARow int) {
	pause := max(e.config.cooldown, minCooldown)
	for most := 10 * e.config.ttl; inARow > 1 && pause < most; inARow-- {
		pause = min(2*pause, most)
	}
	_ = retry.Sleep(r.stopping, pause+rand.N(pause/10)) // the loop looks at stopping itself
}

// forgetTerm is called when all work of the term has returned.
func (e *Elector) forgetTerm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = nil
}

// passPanics hands the callbacks' panics on: to the handler, or else it panics with the first. By then the lease is released
// or abandoned. It returns whether there were any.
func (e *Elector) passPanics() bool {
	e.mu.Lock()
	panics := e.panics
	e.panics = nil
	e.mu.Unlock()
	e.tell("the logger", func() { e.logPanics(panics) })
	for _, p := range panics {
		e.tell("the panic handler", func() { e.handlePanic(p.err) })
	}
	return len(panics) > 0
}
