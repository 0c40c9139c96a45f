package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/redlock"
)

// Elector campaigns in one election on behalf of one process. Its methods are safe for concurrent
// use, also from inside callbacks.
type Elector struct {
	locker *redlock.Locker
	name   string
	config config
	log    *zap.Logger

	mu        sync.Mutex // guards the fields below, and the callbacks' states
	callbacks []*callback
	idle      []context.CancelFunc // called when no callback is running
	panics    []*PanicError        // that Run has not passed on
	run       *run
	term      *Term     // from its start until its callbacks have returned
	beat      time.Time // by when the loop will have moved on; zero while it waits for others
}

// run is one call of Run.
type run struct {
	asked context.Context // done when told to stop, with a cause that is ErrStopped
	ask   context.CancelCauseFunc
	hurry context.Context // done when draining must end
	cut   context.CancelFunc
	done  chan struct{} // closed when Run has returned err
	err   error
}

// New makes an Elector for the election called name, 1 to 200 bytes of UTF-8 without control
// characters, which is also the name of its lock. All problems are reported at once.
func New(locker *redlock.Locker, name string, opts ...Option) (*Elector, error) {
	if locker == nil {
		return nil, errors.New("election: the locker is nil")
	}
	c := newConfig(locker.Settings(), opts)
	if err := c.problems(name, locker.Settings()); err != nil {
		return nil, err
	}
	e := &Elector{
		locker: locker, name: name, config: c,
		log: c.log.With(zap.String("election", name), zap.String("candidate", c.id)),
	}
	for _, fn := range c.callbacks {
		e.OnLeader(fn)
	}
	return e, nil
}

// Name is the election's name.
func (e *Elector) Name() string { return e.name }

// Identity is who this candidate is, as given by [WithIdentity].
func (e *Elector) Identity() string { return e.config.id }

// Locker is what the Elector takes its lock with.
func (e *Elector) Locker() *redlock.Locker { return e.locker }

// Run campaigns, leads and campaigns again until ctx is done or [Elector.Shutdown] is called,
// through any outage. Then it drains: it renews the lease until all callbacks have returned, for
// the drain timeout at most, releases it and returns nil. [ErrUndrained]: callbacks are still
// running, and the lease was abandoned. [ErrRunning]: it runs already. If a callback panics, Run
// panics with its [PanicError] after the release.
func (e *Elector) Run(ctx context.Context) error {
	r, err := e.beginRun(ctx)
	if err != nil {
		return err
	}
	ask := func() { r.ask(fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))) }
	stop := context.AfterFunc(ctx, ask)
	if ctx.Err() != nil {
		ask() // now, and not on AfterFunc's goroutine, which the first attempt may overtake
	}
	var observing sync.WaitGroup
	observed, unobserve := context.WithCancel(context.WithoutCancel(ctx))
	if e.config.hooks.Observed != nil {
		observing.Go(func() { e.observe(observed) })
	}
	defer func() {
		stop()
		unobserve()
		observing.Wait()
		e.endRun(r)
		e.passPanics() // of callbacks that the loop did not wait for
	}()
	r.err = e.loop(r)
	return r.err
}

// Shutdown has Run drain and hand over within ctx, and waits for it. It returns what Run returns;
// or, if ctx is done first, its cause, as [ErrUndrained] if there is work left: then the lease is
// abandoned. It does nothing while Run is not running.
func (e *Elector) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	r := e.run
	e.mu.Unlock()
	if r == nil {
		return nil
	}
	r.ask(fmt.Errorf("%w: shutdown", ErrStopped))
	if deadline, ok := ctx.Deadline(); ok {
		hurry := time.AfterFunc(time.Until(deadline)-e.reserve(), r.cut)
		defer hurry.Stop()
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		r.cut()
		e.mu.Lock()
		idle := len(e.runningLocked()) == 0
		e.mu.Unlock()
		if idle {
			return fmt.Errorf("election: %q is stopping: %w", e.name, context.Cause(ctx))
		}
		return fmt.Errorf("%w: %w", e.undrained(), context.Cause(ctx))
	}
}

// reserve is what must be left of a shutdown's time for callbacks that are cut off to return, and
// for the release.
func (e *Elector) reserve() time.Duration { return e.config.margin + 2*e.nodeTimeout() }

func (e *Elector) nodeTimeout() time.Duration { return e.locker.Settings().NodeTimeout }

func (e *Elector) beginRun(ctx context.Context) (*run, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run != nil {
		return nil, fmt.Errorf("%w: %q", ErrRunning, e.name)
	}
	r := &run{done: make(chan struct{})}
	base := context.WithoutCancel(ctx) // callbacks see its values
	r.asked, r.ask = context.WithCancelCause(base)
	r.hurry, r.cut = context.WithCancel(base)
	e.run = r
	return r, nil
}

func (e *Elector) endRun(r *run) {
	e.mu.Lock()
	e.run = nil
	e.beat = time.Time{}
	e.mu.Unlock()
	r.ask(ErrStopped)
	r.cut()
	close(r.done)
}

// IsLeader tells whether this process leads right now and has not been asked to stop. By the time
// the caller acts on it, that may have changed; work belongs under a callback's context.
func (e *Elector) IsLeader() bool {
	_, ok := e.Term()
	return ok
}

// Term returns the current term, if this process leads right now and has not been asked to stop.
func (e *Elector) Term() (*Term, bool) {
	e.mu.Lock()
	t := e.term
	e.mu.Unlock()
	if t == nil || t.work.Err() != nil || !t.Valid() {
		return nil, false
	}
	return t, true
}
