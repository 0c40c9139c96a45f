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

	inApp atomic.Pointer[time.Time]      // since when Run has been in a hook or the logger; nil: it is in none
	nodes atomic.Pointer[inside.Trouble] // no attempt to lead succeeds, and the nodes' clocks or mistakes in their list are the reason
	list  atomic.Pointer[inside.Trouble] // the same, and nodes wait for a list

	mu        sync.Mutex // guards the fields below
	callbacks []*callback
	running   []*work       // must return before the lease may be released
	hasWork   chan struct{} // closed when the first callback was registered
	idle      chan struct{} // closed while nothing is running
	run       *run
	partner   inside.Partner
	ran       bool            // Run was called before
	refused   bool            // Shutdown was called before the first Run
	failed    *inside.Trouble // Run can never lead again
	term      *Term           // from its start until its work has returned
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
	log := c.log.With(zap.String("election", name), zap.String("candidate", c.Identity))
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
func (e *Elector) Identity() string { return e.config.Identity }

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

// State says what an Elector is doing.
type State string

const (
	// StateStopped means that Run is not running.
	StateStopped State = "stopped"
	// StateFollowing means that it campaigns, or waits until it may.
	StateFollowing State = "following"
	// StateLeading lasts from the win until the term is asked to end, or is lost.
	StateLeading State = "leading"
	// StateDraining lasts from the end of StateLeading until the callbacks have returned.
	StateDraining State = "draining"
)

// State returns what this Elector is doing. It may have changed by the time the caller reads it.
func (e *Elector) State() State {
	e.mu.Lock()
	t, running, working := e.term, e.run != nil, len(e.running) > 0
	e.mu.Unlock()
	switch {
	case t != nil && t.canStart():
		return StateLeading
	case t != nil && (running || working): // after Run, e.term stays set
		return StateDraining
	case running:
		return StateFollowing
	default:
		return StateStopped
	}
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
