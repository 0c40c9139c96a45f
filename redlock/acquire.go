package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// TryAcquire makes one attempt to take the lock called name, 1 to 200 bytes of UTF-8 without
// control characters. It returns when the outcome is decided, at the latest at the node timeout.
// The error is or wraps [ErrHeld], [ErrGuarded], [ErrNoQuorum], [ErrExpired] where the answers took so long that
// nothing of the lease was left, [ErrConfig], [ErrClosed], or the cause of ctx. After an error
// nothing of ours stays on the nodes: what was set is removed in the background.
func (l *Locker) TryAcquire(ctx context.Context, name string, opts ...AcquireOption) (*Lease, error) {
	r, found := l.newRequest(name, opts)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	v := value{contender: newContender(), attempt: 1, text: r.text}
	began := time.Now()
	lease, _, err := l.attempt(ctx, r, v, l.askAll)
	r.tellEnd(began, lease, err)
	return lease, err
}

// asker asks the nodes, all at once or in turn.
type asker func(ctx context.Context, call quorum.Call) (*quorum.Round, error)

// granted tells that the outcome of an attempt is decided.
func (l *Locker) granted(answers []quorum.Answer) bool { return l.decided(answers, granting) }

func (l *Locker) askAll(ctx context.Context, call quorum.Call) (*quorum.Round, error) {
	return l.quorum.Ask(ctx, call, l.granted)
}

// attempt asks the nodes once. It returns what they said, unless none was asked.
func (l *Locker) attempt(ctx context.Context, r request, v value, ask asker) (*Lease, []quorum.Answer, error) {
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("redlock: acquire %q: %w", r.name, context.Cause(ctx))
	}
	if !l.begin() {
		return nil, nil, fmt.Errorf("%w: acquire %q", ErrClosed, r.name)
	}
	defer l.calls.Done()
	g := &grant{request: r, value: v.String(), key: l.lockKey(r.name), fence: l.fenceKey(r.name)}
	valid := validity{sent: l.clock.Now(), ttl: r.ttl, drift: l.settings.Drift}
	g.before = l.bestBefore(valid.sent)
	call := acquireScript.Call([]string{g.key, g.fence, l.guardKey()},
		g.value, r.ttl.Milliseconds(), l.longestLease(), l.quorum.Size()).WithLast(g.before.at)
	var cause error
	g.round, cause = ask(ctx, call)

	answers := g.round.Answers()
	t := l.count(answers, granting)
	if t.yes < l.need {
		l.clean(g)
		return nil, answers, l.failed("acquire", r.name, t, ErrHeld, cause)
	}
	if t.uneven {
		if err := l.raise(ctx, g, t.number); err != nil {
			l.clean(g)
			return nil, answers, err
		}
	}
	now := l.clock.Now()
	if !now.Before(valid.deadline()) {
		l.clean(g)
		return nil, answers, fmt.Errorf("%w: acquire %q: the answers took %v, the ttl is %v",
			ErrExpired, r.name, now.Sub(valid.sent), r.ttl)
	}
	lease := &Lease{locker: l, grant: g, token: t.number, base: ctx, deadline: valid.deadline()}
	if !l.keep(lease) {
		l.clean(g)
		return nil, answers, fmt.Errorf("%w: acquire %q", ErrClosed, r.name)
	}
	if r.extend != nil {
		l.renewer.add(lease, *r.extend)
	}
	return lease, answers, nil
}

// grant is what one attempt asks for, and where the nodes stand with it.
type grant struct {
	request
	value      string // encoded
	key, fence string // on the nodes
	before     *bestBefore
	round      *quorum.Round
}

// raise has a majority count at least as far as token before anybody gets to see it. Any later
// majority shares a node with this one, so the next token is larger.
func (l *Locker) raise(ctx context.Context, g *grant, token uint64) error {
	round, cause := l.quorum.Ask(ctx, l.extension([]*grant{g}, []uint64{token}), l.extended(1))
	t := l.count(round.Answers(), extending(0, 1))
	if t.yes >= l.need {
		return nil
	}
	return l.failed("raise the fence of", g.name, t, ErrLost, cause)
}

// clean removes what a failed attempt left, on each node when its own answer is there: a release
// sent any earlier could overtake the grant.
func (l *Locker) clean(g *grant) {
	left, tell := 0, ""
	for _, a := range g.round.Answers() {
		if mayBeSet(a) {
			left++
		}
	}
	if left >= l.need {
		tell = toldFailed
	}
	g.round.Then(func(i int, a quorum.Answer) {
		if mayBeSet(a) {
			l.janitors[i].add(leftover{
				name: g.name, value: g.value, until: l.clock.Now().Add(g.ttl),
				tell: tell, sure: a.Err == nil, before: g.before.of(i),
			})
		}
	})
}

// mayBeSet tells that a grant was answered with yes, or may have been one. A refusal, under guard say,
// may be the answer to a client's second try: the first may have been granted before, and its reply lost.
func mayBeSet(a quorum.Answer) bool {
	if a.Err != nil {
		return isUnknown(a)
	}
	answer, err := parseReply(a)
	return err != nil || answer.yes
}
