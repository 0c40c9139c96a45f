package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

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
	tell         *string  // what to do with the line
	janitor      *janitor // that decides that when the call is sent; nil: it is decided
}

func (r *releasing) AppendArgs(_ int, args []any) []any {
	tell := r.tell
	if r.janitor != nil {
		tell = r.janitor.tell(r.field, tell)
	}
	return append(args, &r.field, &r.value, tell)
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
		if set, notAfter := s.mayBeSet(i); notAfter > 0 || set && a.Err != nil {
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
