package election

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/internal/caller"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/redlock"
)

// Elector campaigns in one election on behalf of one process. Its methods are safe for concurrent use, even from inside
// callbacks.
type Elector struct {
	locker *redlock.Locker
	parts  inside.Parts // of the Locker
	name   string
	lock   string // its name
	config config
	log    *zap.Logger

	inApp  atomic.Pointer[appCall] // the call of the application's code that Run makes; nil: it makes none
	clocks atomic.Pointer[Problem] // why no attempt to lead succeeds, if the nodes' clocks are the reason

	mu        sync.Mutex // guards the fields below
	callbacks []*callback
	running   []*work       // must return before the lease may be released
	hasWork   chan struct{} // closed when the first callback was registered
	idle      chan struct{} // closed while nothing is running
	run       *run
	partner   inside.Partner
	ran       bool      // Run was called before
	refused   bool      // Shutdown was called before the first Run
	failed    error     // why Run can never lead again
	failedAt  time.Time // when that was found
	term      *Term     // from its start until its work has returned
}

// New returns an Elector for the election called name: 1 to 191 bytes of UTF-8 without invisible characters. The error has all
// problems at once.
func New(locker *redlock.Locker, name string, opts ...Option) (*Elector, error) {
	if locker == nil {
		return nil, errors.New("election: the locker is nil")
	}
	c := newConfig(locker.Settings(), opts)
	if err := c.problems(name, locker.Settings()); err != nil {
		return nil, err
	}
	log := c.log.With(zap.String("election", name), zap.String("candidate", c.id))
	e := &Elector{
		locker: locker, parts: inside.Of(locker), name: name, lock: inside.ElectionLock(name), config: c,
		idle: make(chan struct{}), hasWork: make(chan struct{}), log: log.WithOptions(zap.AddStacktrace(noStack)),
	}
	close(e.idle)
	for _, fn := range c.callbacks {
		e.OnLeader(fn)
	}
	return e, nil
}

// noStack is above all levels: the stack of a log call in this library tells an operator nothing.
const noStack = zapcore.FatalLevel + 1

// Name returns the election's name.
func (e *Elector) Name() string { return e.name }

// Identity returns the identity of this candidate: see [WithIdentity].
func (e *Elector) Identity() string { return e.config.id }

// Locker returns the Locker that the Elector takes its lock with.
func (e *Elector) Locker() *redlock.Locker { return e.locker }

// IsLeader reports whether this process leads right now and has not been asked to stop. That may have changed by the time the
// caller acts on it, so do work in a callback or in [Term.Do].
func (e *Elector) IsLeader() bool {
	_, ok := e.Term()
	return ok
}

// Term returns the current term. It returns false unless this process leads right now and has not been asked to stop.
func (e *Elector) Term() (*Term, bool) {
	e.mu.Lock()
	t := e.term
	e.mu.Unlock()
	if t == nil || !t.canStart() {
		return nil, false
	}
	return t, true
}

// notFromInside returns an error if a call with this context comes from a callback, a run of a job or a [Term.Do] of this Elector.
func (e *Elector) notFromInside(ctx context.Context) error {
	return caller.Where(ctx, func(owner any) bool {
		t, isTerm := owner.(*Term)
		return isTerm && t.elector == e && (t == e.lastTerm() || t.trusted.Err() == nil)
	})
}

// whenIdle returns a channel that is closed when no work is running.
func (e *Elector) whenIdle() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.idle
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
