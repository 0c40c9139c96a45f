package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// waiting is how long a contender waits between attempts: at first as long as a split vote needs to
// be undone, then as long as is little beside the lease.
func waiting(ttl time.Duration) retry.Backoff {
	return retry.Backoff{Min: 10 * time.Millisecond, Max: max(ttl/20, 10*time.Millisecond)}
}

// TryAcquire makes one attempt to take the lock called name, 1 to 200 bytes of UTF-8 without
// control characters. It returns when the outcome is decided, at the latest at the node timeout.
// The error is or wraps [ErrHeld], [ErrNoQuorum], [ErrExpired] where the answers took so long that
// nothing of the lease was left, [ErrConfig], [ErrClosed], or the cause of ctx. After an error
// nothing of ours stays on the nodes: what was set is removed in the background.
func (l *Locker) TryAcquire(ctx context.Context, name string, opts ...AcquireOption) (*Lease, error) {
	r, problems := l.newRequest(name, opts)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return l.attempt(ctx, r, value{contender: newContender(), attempt: 1, text: r.text})
}

// Acquire is [Locker.TryAcquire] repeated until it succeeds or ctx is done; the error then wraps
// both the cause of ctx and the last outcome. It ends at once where waiting is in vain: wrong
// passwords or missing rights on so many nodes that no quorum is left.
func (l *Locker) Acquire(ctx context.Context, name string, opts ...AcquireOption) (*Lease, error) {
	r, problems := l.newRequest(name, opts)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	v := value{contender: newContender(), text: r.text}
	var last error // outcome of an attempt that was not cut short
	for {
		v.attempt++
		lease, err := l.attempt(ctx, r, v)
		if err == nil || isHopeless(err, l.quorum.Size()) {
			return lease, err
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		if cause := retry.Sleep(ctx, waiting(r.ttl).After(v.attempt)); cause != nil {
			if errors.Is(last, cause) {
				return nil, last // the first attempt was the one that was cut short
			}
			return nil, fmt.Errorf("redlock: acquire %q: %w: %w", name, cause, last)
		}
	}
}

// attempt asks every node once.
func (l *Locker) attempt(ctx context.Context, r request, v value) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("redlock: acquire %q: %w", r.name, context.Cause(ctx))
	}
	if !l.begin() {
		return nil, fmt.Errorf("%w: acquire %q", ErrClosed, r.name)
	}
	defer l.calls.Done()
	encoded, key := v.String(), l.lockKey(r.name)
	call := acquireScript.Call([]string{key, l.fenceKey(r.name)},
		encoded, r.ttl.Milliseconds())
	valid := validity{sent: time.Now(), ttl: r.ttl, drift: l.settings.Drift}
	round, cause := l.quorum.Ask(ctx, call, l.decided)

	t := l.count(round.Answers())
	if t.yes < l.need {
		l.clean(round, r, encoded)
		return nil, l.failed("acquire", r.name, t, ErrHeld, cause)
	}
	if t.uneven {
		if err := l.raise(ctx, r, encoded, t.number); err != nil {
			l.clean(round, r, encoded)
			return nil, err
		}
	}
	if !time.Now().Before(valid.deadline()) {
		l.clean(round, r, encoded)
		return nil, fmt.Errorf("%w: acquire %q: the answers took %v, the ttl is %v",
			ErrExpired, r.name, time.Since(valid.sent), r.ttl)
	}

	lease := &Lease{
		locker: l, name: r.name, key: key, value: encoded, token: t.number, ttl: r.ttl,
		grants: round, base: ctx, deadline: valid.deadline(),
	}
	if !l.keep(lease) {
		l.clean(round, r, encoded)
		return nil, fmt.Errorf("%w: acquire %q", ErrClosed, r.name)
	}
	if r.extend != nil {
		lease.autoExtend(*r.extend)
	}
	return lease, nil
}

// raise has a majority count at least as far as token before anybody gets to see it. Any later
// majority shares a node with this one, so the next token is larger.
func (l *Locker) raise(ctx context.Context, r request, encoded string, token uint64) error {
	call := extendScript.Call([]string{l.lockKey(r.name), l.fenceKey(r.name)},
		encoded, r.ttl.Milliseconds(), token)
	round, cause := l.quorum.Ask(ctx, call, l.decided)
	t := l.count(round.Answers())
	if t.yes >= l.need {
		return nil
	}
	return l.failed("raise the fence of", r.name, t, ErrLost, cause)
}

// clean removes what a failed attempt left, on each node when its own answer is there: a release
// sent any earlier could overtake the grant.
func (l *Locker) clean(grants *quorum.Round, r request, encoded string) {
	grants.Then(func(i int, a quorum.Answer) {
		if answer, err := parseReply(a); err != nil && !isUnknown(a) || err == nil && !answer.yes {
			return // nothing of ours is there
		}
		l.janitors[i].add(leftover{
			name: r.name, value: encoded, until: time.Now().Add(r.ttl), sure: a.Err == nil,
		})
	})
}

// isUnknown tells that the node may have done what it was asked, or may still do it.
func isUnknown(a quorum.Answer) bool {
	return a.Err != nil && !errors.Is(a.Err, quorum.ErrUnsent) && !errors.Is(a.Err, quorum.ErrClosed) &&
		!isRefused(a.Err)
}
