package election

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

// run is one call of Run.
type run struct {
	stopping context.Context // done when Run must stop
	stop     context.CancelCauseFunc
	aborting context.Context // done when draining must end
	abort    context.CancelFunc
	done     chan struct{} // closed when Run is over and err is set
	err      error

	// panicked is a callback's panic, if there is no handler: Run ends and panics with it. It is set under Elector.mu, and not after
	// the end of Run.
	panicked atomic.Pointer[PanicError]

	besides    sync.WaitGroup // what runs beside the loop until alongside is done
	alongside  context.Context
	endBesides context.CancelFunc
}

// Run campaigns, leads and campaigns again until ctx is done or [Elector.Shutdown] is called. It survives any outage. Then it
// drains: it renews the lease until all callbacks have returned, for at most the drain timeout, releases it and returns nil.
//
// The error is [ErrUndrained] if callbacks are still running and the lease was abandoned. It is [ErrRunning] if Run is already
// running, or is called from a callback, [ErrStopped] if Shutdown was called before Run, and [redlock.ErrClosed] if the Locker is
// closed, so that this process can never lead again.
//
// If a callback panics and there is no [WithPanicHandler], Run panics with its [PanicError] when the other callbacks have
// returned or the time to drain is over. The lease then runs out, as after any crash.
func (e *Elector) Run(ctx context.Context) error {
	r, err := e.beginRun(ctx)
	if err != nil {
		return err
	}
	r.err = errors.New("election: a panic or runtime.Goexit ended Run")
	r.besides.Go(func() { e.reportProblems(r.alongside) })
	unwatch := e.logNodes()
	defer func() {
		unwatch()
		e.mu.Lock()
		r.endBesides() // under the lock, so that nothing is started any more
		e.mu.Unlock()
		e.callApp(r.besides.Wait) // they log
		e.endRun(r)
		if p := r.panicked.Load(); p != nil {
			panic(p)
		}
	}()
	r.err = e.loop(r)
	return r.err
}

func (e *Elector) beginRun(ctx context.Context) (*run, error) {
	if err := e.notFromInside(ctx); err != nil { // even if an earlier Run has ended undrained
		return nil, fmt.Errorf("%w: %q: %w", ErrRunning, e.name, err)
	}
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
	r := &run{done: make(chan struct{})}
	r.stopping, r.stop = context.WithCancelCause(ctx)
	base := context.WithoutCancel(ctx)
	r.aborting, r.abort = context.WithCancel(base)
	r.alongside, r.endBesides = context.WithCancel(base)
	if fn := e.partner.Beside; fn != nil {
		r.besides.Go(func() { fn(r.alongside) })
	}
	e.run = r
	return r, nil
}

// whyStopping returns why Run must stop.
func (r *run) whyStopping() error {
	return fmt.Errorf("%w: %w", ErrStopped, context.Cause(r.stopping))
}

func (e *Elector) endRun(r *run) {
	e.mu.Lock()
	e.run = nil
	if p := r.panicked.Load(); p != nil {
		r.err = p
	}
	if errors.Is(r.err, redlock.ErrClosed) {
		e.failed = e.failed.Next(r.err)
	}
	e.mu.Unlock()
	r.stop(ErrStopped)
	r.abort()
	close(r.done)
}

// loop goes from state to state, each a function that returns when the state is over.
func (e *Elector) loop(r *run) error {
	for led := false; ; {
		if !e.await(r) {
			return e.undrained()
		}
		lease, renewals, err := e.campaign(r)
		if lease == nil && err == nil && !led {
			e.callApp(func() { e.log.Info("stopped, this replica was not leading") })
		}
		if lease == nil {
			return err
		}
		cause, drained := e.lead(r, lease, renewals)
		led = r.stopping.Err() != nil // when it was asked to stop, or while it drained: its end is logged
		if !drained && led {
			return e.undrained()
		}
		if _, panicked := errors.AsType[*PanicError](cause); panicked || errors.Is(cause, ErrResigned) {
			e.cool(r)
		}
	}
}

// await waits until no work of an earlier term is running. It returns false if Run must end before that. A registration must never
// run twice at a time, so a process with work left from one term must not start another.
func (e *Elector) await(r *run) bool {
	idle := e.whenIdle()
	select {
	case <-idle:
	case <-r.stopping.Done():
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.stopping), e.config.DrainTimeout)
		defer cancel()
		e.awaitIdle(ctx, r, e.lastTerm(), nil)
	}
	if !isDone(idle) {
		return false
	}
	e.forgetTerm()
	return true
}

// minCooldown limits how often a process that always gives up at once is elected, whatever the settings.
const minCooldown = 250 * time.Millisecond

// cool pauses after a term that the leader gave up by itself, so that another process gets the lock if there is one.
func (e *Elector) cool(r *run) {
	pause := max(e.config.Cooldown, minCooldown)
	_ = retry.Sleep(r.stopping, pause+rand.N(pause/10)) // the loop checks stopping itself
}

// lastTerm returns the term that was not forgotten yet, or nil.
func (e *Elector) lastTerm() *Term {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term
}

// forgetTerm removes the term. Call it when all work of the term has returned.
func (e *Elector) forgetTerm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = nil
}
