package redlock

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// answer and round are the types that most scripts use: what nodes say about one lock.
type (
	answer = quorum.Answer[reply]
	round  = quorum.Round[reply]
)

// grant is the request of one attempt, and what the nodes have answered to it.
type grant struct {
	request
	field     string // key of the record in the hash
	value     string // encoded
	ttlMillis int64
	waiter    string  // the process to list as waiting if refused, and for how many ms it is patient; empty: none
	listing   nodeSet // nodes that list the waiter
	goesOn    bool    // another attempt follows if this one fails
	notAfter  notAfter
	round     *round
	answered  growingSet // nodes known to have answered; see known

	unconfirmed atomic.Bool // the last extension was not confirmed by a majority
}

// acquiring is a grant as the arguments of acquire. It is a type of its own, so that [Lease] does not get its methods.
type acquiring struct{ *grant }

// AppendArgs appends the arguments of acquire for the node.
func (g acquiring) AppendArgs(node int, args []any) []any {
	waiter := &nobody
	if g.listing.has(node) {
		waiter = &g.waiter
	}
	return append(args, &g.field, &g.value, &g.ttlMillis, g.notAfter.argument(node), waiter)
}

// Name keeps requests for the same lock apart: one call of the script would grant the lock to both.
func (g acquiring) Name() string { return g.field }

var nobody string // argument for no waiter

// listIn asks these nodes to list the process as waiting for the lock if they refuse it.
func (g *grant) listIn(nodes []int, who string) {
	g.goesOn, g.waiter = true, who
	for _, node := range nodes {
		g.listing = g.listing.with(node)
	}
}

func newGrant(r request, v value) *grant {
	return &grant{request: r, field: fieldOf(r.name), value: v.String(), ttlMillis: r.ttl.Milliseconds()}
}

// known returns the nodes that have answered the grant or an extension. The lease can tell whether their clocks have
// moved since.
func (g *grant) known(nodes int) nodeSet {
	known := g.answered.load()
	for node := range nodes {
		if !known.has(node) && g.round.Answer(node).Time != 0 {
			known = known.with(node)
		}
	}
	g.answered.add(known)
	return known
}

// grantHead appends the first arguments of the acquire and repair scripts: list and flags.
type grantHead struct {
	locker        *Locker
	began         time.Time
	checkInterval time.Duration
	checked       []atomic.Int64 // by node, when a guard check was last forced, in nanoseconds since began
}

// checkInterval is how often a node checks its guard even though it refuses every lock. So a guard starts, and is
// marked as used, even while every lock is held. Short leases need a shorter interval: a guard updates its time of use
// eight times per longest lease.
const checkInterval = time.Second

func newGrantHead(l *Locker) *grantHead {
	every := min(checkInterval, l.settings.MaxTTL/16)
	return &grantHead{
		locker: l, began: time.Now().Add(-every), checkInterval: every, checked: make([]atomic.Int64, l.size),
	}
}

func (h *grantHead) AppendArgs(node int, args []any) []any {
	l, checked := h.locker, &h.checked[node]
	now := int64(time.Since(h.began))
	look := now-checked.Load() >= int64(h.checkInterval)
	if look {
		checked.Store(now)
	}
	flags := ""
	switch {
	case look && l.settings.UnseenRestarts:
		flags = "gb"
	case look:
		flags = "g"
	case l.settings.UnseenRestarts:
		flags = "b"
	}
	return append(args, &l.list, flags)
}

// asker asks the nodes, either all at once or some before the others.
type asker func(ctx context.Context, call quorum.Call[reply]) (*round, error)

// askAll asks all nodes at once.
func (l *Locker) askAll(ctx context.Context, call quorum.Call[reply]) (*round, error) {
	return quorum.Ask(ctx, l.quorum, call, l.granted)
}

// granted reports whether the outcome of an attempt is decided.
func (l *Locker) granted(answers []answer) bool { return l.isDecided(answers, timed) }

// attempt asks the nodes once. If it fails, it returns their answers, or none if it asked no node.
func (l *Locker) attempt(ctx context.Context, g *grant, ask asker) (*Lease, []answer, error) {
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("redlock: acquire %q: %w", g.name, context.Cause(ctx))
	}
	if !l.begin() {
		return nil, nil, fmt.Errorf("%w: acquire %q", ErrClosed, g.name)
	}
	defer l.calls.Done()
	valid := validity{sent: l.clock.Now(), ttl: g.ttl, drift: l.settings.Drift}
	g.notAfter = l.notAfter(valid.sent)
	var cause error
	g.round, cause = ask(ctx, l.commands.acquire.Call(acquiring{g}))

	lease, answers, err := l.win(ctx, g, valid, cause)
	if err != nil {
		g.goesOn = g.goesOn && ctx.Err() == nil
		l.clean(g)
		return nil, answers, err
	}
	if g.extend != nil {
		l.renewer.add(lease, *g.extend)
		g.round.Then(func(_ int, a answer) {
			if a.Err == nil && !a.Value.yes {
				lease.repairSoon()
			}
		})
	}
	return lease, nil, nil
}

// win makes a lease from the answers to an attempt. After an error, it returns the answers, and the caller must clean up
// what was granted.
func (l *Locker) win(ctx context.Context, g *grant, valid validity, cause error) (*Lease, []answer, error) {
	var t tally
	var answers []answer // copied only for an error
	g.round.View(func(now []answer) {
		if t = l.count(now, timed); t.yes < l.need {
			answers = slices.Clone(now)
		}
	})
	if answers != nil {
		return nil, answers, l.failed("acquire", g.name, answers, timed, ErrHeld, cause)
	}
	lease, err := l.won(ctx, g, valid, t)
	if err != nil {
		return nil, g.round.Answers(), err
	}
	return lease, nil, nil
}

// won makes the lease of an attempt to which a majority has said yes.
func (l *Locker) won(ctx context.Context, g *grant, valid validity, t tally) (*Lease, error) {
	if t.uneven {
		if err := l.raise(ctx, g, t.number); err != nil {
			return nil, err
		}
	}
	now := l.clock.Now()
	if !now.Before(valid.deadline()) {
		return nil, fmt.Errorf("%w: acquire %q: the answers took %v, the ttl is %v", ErrExpired, g.name,
			now.Sub(valid.sent), g.ttl)
	}
	lease := newLease(l, g, t.number, ctx, valid.deadline())
	if !l.keep(lease) {
		return nil, fmt.Errorf("%w: acquire %q", ErrClosed, g.name)
	}
	return lease, nil
}

// raise raises the numbers of a majority to at least token, before anybody sees the token. Any later majority shares a
// node with this one, so the next token is larger.
func (l *Locker) raise(ctx context.Context, g *grant, token uint64) error {
	e := newExtending(l, []*grant{g}, []uint64{token})
	round, cause := quorum.Ask(ctx, l.quorum, l.commands.extend.Call(e), e.isDecided)
	answers := e.answersTo(0, round.Answers())
	if l.count(answers, timed).yes >= l.need {
		return nil
	}
	return l.failed("raise the fence of", g.name, answers, timed, ErrLost, cause)
}

// clean removes what a failed attempt left, on each node once it has answered. The attempt is over, so later answers to
// its value no longer count.
func (l *Locker) clean(g *grant) {
	left := 0
	for node := range l.size {
		if mayBeSet(g.round.Answer(node)) {
			left++
		}
	}
	looksHeld := !g.goesOn || left >= l.need // otherwise another attempt follows
	g.round.Then(func(i int, a answer) {
		if mayBeSet(a) {
			l.janitors[i].add(leftover{
				field: g.field, value: g.value, until: l.clock.Now().Add(g.ttl),
				tell: l.tells.after(g, i, looksHeld), sure: a.Err == nil && !a.Resent, notAfter: g.notAfter.of(i),
			})
		}
	})
}
