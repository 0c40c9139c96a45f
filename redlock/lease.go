package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Lease is a lock that was won, until its deadline. Its methods are safe for concurrent use.
type Lease struct {
	locker *Locker
	grant  *grant // that won it
	token  uint64
	base   context.Context // the values of Acquire's context

	once     sync.Once // runs the release or abandonment; further callers wait for it
	released error     // its outcome
	handover handover  // of its release

	mu       sync.Mutex      // guards the fields below
	deadline time.Time       // by the Locker's clock
	renewal  *renewal        // nil: it is not extended in the background
	end      error           // why the lease ended, nil while it is held
	ctx      context.Context // made on demand
	cancel   context.CancelCauseFunc
	timer    *clock.Timer // ends ctx at the deadline
}

// Name returns the lock's name.
func (s *Lease) Name() string { return s.grant.name }

// Token returns the fencing token: the largest number that the nodes of the deciding majority counted for this lock. A
// resource that remembers the largest token it has seen can refuse the work of an older holder. Tokens are below 2^53,
// so they fit a BIGINT in SQL and are exact in JSON.
func (s *Lease) Token() uint64 { return s.token }

// Deadline returns the instant until which nobody else can hold the lock, by this process's monotonic clock. Each
// extension moves it forward. A suspension of the machine brings it nearer by the time suspended, because the monotonic
// clock stands still meanwhile. To decide anything, use [Lease.Valid] or [Lease.Context].
func (s *Lease) Deadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locker.clock.Local(s.deadline)
}

// Valid reports whether the lock is held right now. It may have ended by the time the caller acts on it.
func (s *Lease) Valid() bool { return s.heldAt(s.locker.clock.Now()) }

// Context returns a context that ends when the lease is released or abandoned ([ErrReleased]), is lost ([ErrLost]), or
// reaches its deadline ([ErrExpired]). A local timer ends it at the deadline, without waiting for any node.
// context.Cause tells the reason. The context has the values of Acquire's context, but does not end with it.
func (s *Lease) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.cancel = context.WithCancelCause(s.inside(context.WithoutCancel(s.base)))
		if ended := s.heldLocked(); ended != nil {
			s.cancel(ended)
		} else {
			s.timer = s.locker.clock.AfterFunc(s.deadline, func() { _ = s.expire() })
		}
	}
	return s.ctx
}

// Abandon stops extending the lease and leaves it to run out: at [Lease.Deadline] for its holder, and a little later
// for others. Use it if the work has not stopped, since nobody else can start before then. It does not contact the
// nodes, and a later Release does not either. After a Release it does nothing.
func (s *Lease) Abandon() {
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.endLocked(fmt.Errorf("%w: lease %q was abandoned", ErrReleased, s.grant.name))
		s.released = s.end
	})
}

// expire ends the lease if its deadline has passed. It returns why the lease has ended, nil while it is held.
func (s *Lease) expire() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldLocked()
}

// heldLocked returns nil while the lease is held, and otherwise why it ended. It ends a lease whose deadline has
// passed.
func (s *Lease) heldLocked() error { return s.heldAtLocked(s.locker.clock.Now()) }

func (s *Lease) heldAtLocked(now time.Time) error {
	if s.end == nil && !now.Before(s.deadline) {
		s.endLocked(fmt.Errorf("%w: lease %q, at %s", ErrExpired, s.grant.name,
			s.locker.clock.Local(s.deadline).Format(time.StampMilli)))
	}
	return s.end
}

// endLocked ends the lease and records why, once.
func (s *Lease) endLocked(why error) {
	if s.end != nil {
		return
	}
	s.end = why
	if s.cancel != nil {
		s.cancel(why)
		if s.timer != nil {
			s.timer.Stop()
		}
	}
	if s.renewal != nil {
		s.locker.renewer.remove(s.renewal)
	}
	s.locker.leases.remove(s)
}

// heldAt reports whether the lock is held at an instant of the Locker's clock.
func (s *Lease) heldAt(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end == nil && now.Before(s.deadline)
}

// leftAt returns the time left of the lease at an instant of the Locker's clock.
func (s *Lease) leftAt(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline.Sub(now)
}

// minSweep is how many leases a Locker has before it sweeps expired ones.
const minSweep = 100

// leases are the leases of a Locker that have not ended.
type leases struct {
	mu    sync.Mutex        // guards the fields below
	all   map[string]*Lease // by value
	sweep int               // sweep expired leases at this many; doubles after each sweep
}

func newLeases() *leases { return &leases{all: make(map[string]*Lease), sweep: minSweep} }

// add registers a lease that was won. Now and then it expires old leases, so that leases that are never released do not
// pile up.
func (s *leases) add(lease *Lease) {
	s.mu.Lock()
	s.all[lease.grant.value] = lease
	full := len(s.all) > s.sweep
	if full {
		s.sweep = 2*len(s.all) + minSweep
	}
	s.mu.Unlock()
	if full {
		left := len(s.held())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sweep = 2*left + minSweep
	}
}

func (s *leases) remove(lease *Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, lease.grant.value)
}

// heldError returns the reason of a node on which another value holds the lock.
func (s *leases) heldError(r reply) heldError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return heldError{value: r.value, left: r.left, own: s.all[r.value.String()] != nil}
}

// held returns the leases that are held, and expires those that have run out.
func (s *leases) held() []*Lease {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.all))
	s.mu.Unlock()
	return slices.DeleteFunc(all, func(lease *Lease) bool { return lease.expire() != nil })
}

// released is the cause of a lease that its holder released. The text is built only when it is read.
type released struct{ lease *Lease }

func (e released) Error() string { return fmt.Sprintf("%v: lease %q", ErrReleased, e.lease.grant.name) }
func (e released) Unwrap() error { return ErrReleased }

// Release releases the lock on every node. It works even if ctx is already done. It returns when a majority has
// answered, at the latest after the node timeout; the rest is removed in the background. It returns nil if the lease
// was valid until Release and a majority of nodes no longer has it, and [ErrExpired] or [ErrLost] if the lease had
// ended before. [ErrNoQuorum] means that the outcome is unknown: the lock is removed when the nodes answer again, or
// expires. An abandoned lease is left to run out, and Release returns [ErrReleased]. A second Release returns the
// result of the first.
func (s *Lease) Release(ctx context.Context) error {
	s.once.Do(func() {
		s.mu.Lock()
		ended := s.heldLocked()
		s.endLocked(released{s})
		s.mu.Unlock()

		if s.locker.begin() {
			defer s.locker.calls.Done()
		}
		s.released = s.releaseNodes(context.WithoutCancel(ctx), ended)
	})
	return s.released
}

// releasing is one call that releases a lock.
type releasing struct {
	field, value string
	tell         *tell
	janitor      *janitor // that decides that when the call is sent; nil: it is decided
}

func (r *releasing) AppendArgs(_ int, args []any) []any {
	tell := r.tell
	if r.janitor != nil {
		tell = r.janitor.tell(r.field, tell)
	}
	return append(args, &r.field, &r.value, &tell.text)
}

// Name keeps the release behind the grant and the repairs of the lock, and a later acquisition behind the release.
func (r *releasing) Name() string { return r.field }

// releaseNodes releases the lock on every node. ended is why the lease ended before, nil if it did not. Our own clock
// decides that, not whether nodes find the record: a request may arrive twice, and others may hold the lock by then.
func (s *Lease) releaseNodes(ctx context.Context, ended error) error {
	l, g := s.locker, s.grant
	call := l.commands.release.Call(&releasing{g.field, g.value, &l.tells.released, nil})
	round, err := quorum.Ask(ctx, l.quorum, call, l.jury.agreedUntimed)
	if err != nil {
		return fmt.Errorf("redlock: release %q: %w", g.name, err)
	}
	round.Then(func(i int, a answer) {
		if a.Err == nil && !a.Value.held && a.Value.number > 0 {
			l.queues.handOver(g.name, &s.handover)
			if lineOf(l.quorum, order(l.quorum, g.name))[0] == i {
				// Late, so that the winner has repaired this node if it has another one's vote.
				l.janitors[i].follow(g.field, g.value, &s.handover, a, 4*apart)
			}
		}
		if errors.Is(a.Err, quorum.ErrClosed) {
			return
		}
		// The waiting processes of a node that has nothing of ours are not worth another release: other nodes list them too.
		if set, notAfter := g.mayBeSet(i); notAfter >= a.Time && notAfter > 0 || set && a.Err != nil {
			l.janitors[i].add(leftover{
				field: g.field, value: g.value, until: l.clock.Now().Add(g.ttl), tell: &l.tells.released,
				notAfter: notAfter,
			})
		}
	})

	l.queues.deliverOurs(g.name, g.value)
	left := 0
	round.View(func(answers []answer) { left = l.need - l.jury.count(answers, untimed).yes })
	switch {
	case left <= 0:
		return ended
	case l.isClosed():
		return fmt.Errorf("%w: release %q: it runs out by %s", ErrClosed, g.name,
			s.Deadline().Format(time.StampMilli))
	}
	return l.jury.failed("release", g.name, round.Answers(), untimed, ErrNoQuorum, nil)
}

// mayAct reports whether the node may still act on a request: it did not answer, or was sent the request twice.
func mayAct(a answer) bool { return isUnknown(a.Err) || a.Resent }

// mayBeSet reports whether the node has the lock by this request, or may have it.
func mayBeSet(a answer) bool { return a.Err == nil && a.Value.yes || mayAct(a) }

// mayBeSet reports whether the node may have the lock, by the grant or a repair. notAfter is until when, by the node's
// clock, it may still set it; 0 if it no longer may.
func (g *grant) mayBeSet(node int) (set bool, notAfter int64) {
	if g.repaired.load().has(node) {
		return true, g.notAfter.sent[node].noted.Load()
	}
	a := g.round.Answer(node)
	return mayBeSet(a), g.notAfter.of(node, a)
}
