package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// released is the cause of a lease that was given up by its holder, worded when somebody reads it.
type released struct{ lease *Lease }

func (e released) Error() string { return fmt.Sprintf("%v: lease %q", ErrReleased, e.lease.name) }
func (e released) Unwrap() error { return ErrReleased }

// Release gives the lock up on every node. It works with a ctx that is already done, whose values
// alone it uses, and returns when a majority has answered, at the latest at the node timeout; what
// is late is removed in the background. nil: a majority still had the lock as ours. [ErrExpired],
// [ErrLost]: it had run out, or was another's, on a majority. [ErrNoQuorum]: not known; it is
// removed when the nodes answer again, or runs out. A second Release returns what the first did.
func (l *Lease) Release(ctx context.Context) error {
	l.once.Do(func() {
		l.mu.Lock()
		l.endLocked(released{l})
		l.mu.Unlock()

		if l.locker.begin() {
			defer l.locker.calls.Done()
		}
		l.released = l.releaseNodes(context.WithoutCancel(ctx))
	})
	return l.released
}

// removed tells that the outcome of a release is decided.
func (l *Locker) removed(answers []quorum.Answer) bool { return l.decided(answers, releasing) }

func (l *Lease) releaseNodes(ctx context.Context) error {
	k := l.locker
	call := releaseScript.Call([]string{l.key}, l.value, toldOver)
	round, err := k.quorum.AskAfter(ctx, call, k.removed, l.afterSets)
	if err != nil {
		return fmt.Errorf("redlock: release %q: %w", l.name, err)
	}
	round.Then(func(i int, a quorum.Answer) {
		if errors.Is(a.Err, quorum.ErrClosed) {
			return
		}
		if late, before := l.mayBeSet(i); late || a.Err != nil {
			k.janitors[i].add(leftover{
				name: l.name, value: l.value, until: k.clock.Now().Add(l.ttl), tell: toldOver,
				sure: !late, before: before,
			})
		}
	})

	t := k.count(round.Answers(), releasing)
	if t.yes >= k.need {
		return nil
	}
	if k.isClosed() {
		return fmt.Errorf("%w: release %q: it runs out by %s", ErrClosed, l.name,
			l.Deadline().Format(time.StampMilli))
	}
	return k.failed("release", l.name, t, lossOf(t, k.need), nil)
}

// lossOf says how a majority that no longer has our lock lost it.
func lossOf(t tally, need int) error {
	gone := 0
	for _, n := range t.nodes {
		if errors.Is(n.Err, errGone) {
			gone++
		}
	}
	if gone >= need {
		return ErrExpired
	}
	return ErrLost
}
