package redlock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// answer and round are those of most scripts: what nodes say of one lock.
type (
	answer = quorum.Answer[reply]
	round  = quorum.Round[reply]
)

// grant is what one attempt asks for, and what the nodes have said to it.
type grant struct {
	request
	field     string // of the record
	value     string // encoded
	ttlMillis int64
	waiter    string  // who is to be listed as waiting if it is refused, after one of the places below; empty: nobody
	listing   nodeSet // where
	goesOn    bool    // there is another attempt if this one fails
	notAfter  notAfter
	round     *round
	heard     growingSet // the nodes that have answered, as far as anybody has looked

	unconfirmed atomic.Bool // the last extension had no majority, as far as was heard
}

// AppendArgs appends the arguments of acquire for the node.
func (g *grant) AppendArgs(node int, args []any) []any {
	waiter := &nobody
	if g.listing.has(node) {
		waiter = &g.waiter
	}
	return append(args, &g.field, &g.value, &g.ttlMillis, g.notAfter.argument(node), waiter)
}

// Name has two who want the same lock asked for in calls of their own: one call would grant it to both.
func (g *grant) Name() string { return g.field }

var nobody string // an argument

// Places in the lists of those who wait.
const (
	placeLast   = '-'
	placeFirst  = '+'
	placeBehind = '?' // last, and the lock is not granted if there are others, or were just now
	placeNone   = '=' // not listed any more, whether it is granted or not
)

// listIn has nodes note that somebody waits for the lock, if they refuse it.
func (g *grant) listIn(nodes []int, place byte, who string) {
	g.goesOn = true
	for _, node := range nodes {
		g.listing = g.listing.with(node)
	}
	g.waiter = string(place) + who
}

func newGrant(r request, v value) *grant {
	return &grant{request: r, field: fieldOf(r.name), value: v.String(), ttlMillis: r.ttl.Milliseconds()}
}

// known is the nodes that have answered before, so that their clocks are known to the hold.
func (g *grant) known(nodes int) nodeSet {
	known := g.heard.load()
	for node := range nodes {
		if !known.has(node) && g.round.Answer(node).Time != 0 {
			known = known.with(node)
		}
	}
	g.heard.add(known)
	return known
}

// grantHead is the first arguments of the scripts that grant.
type grantHead struct {
	locker    *Locker
	began     time.Time
	lookEvery time.Duration
	nodes     []grantHeadNode
}

// grantHeadNode is of one node, which several workers may ask at a time.
type grantHeadNode struct {
	looked atomic.Int64 // when the guard was last looked at in any case, in nanoseconds since began
	sweep  *sweep
}

// lookEvery is how often a node looks at its guard even though it refuses: so a guard begins, and is known to be in use,
// also where every lock is held. It is less for short leases: a guard notes its use eight times in a longest lease.
const lookEvery = time.Second

func newGrantHead(l *Locker) *grantHead {
	every := min(lookEvery, l.settings.MaxTTL/16)
	h := &grantHead{
		locker: l, began: time.Now().Add(-every), lookEvery: every, nodes: make([]grantHeadNode, l.size),
	}
	for i := range h.nodes {
		h.nodes[i].sweep = newSweep()
	}
	return h
}

// AppendArgs appends list, flags, and what to look for.
func (h *grantHead) AppendArgs(node int, args []any) []any {
	args = (&repairHead{h}).AppendArgs(node, args)
	return append(args, h.nodes[node].sweep.argument(h.locker.settings.FenceRetention))
}

// see sees what a node says to a grant.
func (h *grantHead) see(node int, a answer) {
	found := a.Value.swept
	h.nodes[node].sweep.see(a.Err == nil && a.Value.yes, found)
	if found != nil && found.err != nil {
		h.locker.observeDenied(node, "sweep", found.err)
	}
	h.locker.seeGrant(node, a)
}

// repairHead is the first arguments of repair: list and flags.
type repairHead struct{ *grantHead }

func (h *repairHead) AppendArgs(node int, args []any) []any {
	l, n := h.locker, &h.nodes[node]
	now := int64(time.Since(h.began))
	look := now-n.looked.Load() >= int64(h.lookEvery)
	if look {
		n.looked.Store(now)
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

// asker asks the nodes, all at once or one before the others.
type asker func(ctx context.Context, call quorum.Call[reply]) (*round, error)

// askAll asks all nodes at once.
func (l *Locker) askAll(ctx context.Context, call quorum.Call[reply]) (*round, error) {
	return quorum.Ask(ctx, l.quorum, call, l.granted)
}

// granted reports that the outcome of an attempt is decided.
func (l *Locker) granted(answers []answer) bool { return l.isDecided(answers, timed) }

// attempt asks the nodes once. It returns what they said, unless none was asked.
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
	g.round, cause = ask(ctx, l.commands.acquire.Call(g))

	answers := g.round.Answers()
	lease, err := l.win(ctx, g, valid, answers, cause)
	if err != nil {
		g.goesOn = g.goesOn && ctx.Err() == nil
		l.clean(g)
		return nil, answers, err
	}
	if g.extend != nil {
		l.renewer.add(lease, *g.extend)
		var repair sync.Once // one extension repairs all nodes
		g.round.Then(func(_ int, a answer) {
			if a.Err == nil && !a.Value.yes {
				repair.Do(func() { l.renewer.addRepair(lease, *g.extend) })
			}
		})
	}
	return lease, answers, nil
}

// win makes a lease of the answers to an attempt. If there is an error, what was granted is to be cleaned.
func (l *Locker) win(
	ctx context.Context, g *grant, valid validity, answers []answer, cause error,
) (*Lease, error) {
	t := l.count(answers, timed)
	if t.yes < l.need {
		return nil, l.failed("acquire", g.name, answers, timed, ErrHeld, cause)
	}
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

// raise has a majority count at least as far as token before anybody gets to see it. Any later majority shares a node
// with this one, so the next token is larger.
func (l *Locker) raise(ctx context.Context, g *grant, token uint64) error {
	e := newExtending(l, []*grant{g}, []uint64{token})
	round, cause := quorum.Ask(ctx, l.quorum, l.commands.extend.Call(e), e.isDecided)
	answers := e.answersTo(0, round.Answers())
	if l.count(answers, timed).yes >= l.need {
		return nil
	}
	return l.failed("raise the fence of", g.name, answers, timed, ErrLost, cause)
}

// clean removes what a failed attempt left, on each node when its own answer is there: a release sent any earlier could
// overtake the grant. The attempt is over, so no answer to its value counts any more.
func (l *Locker) clean(g *grant) {
	left := 0
	for _, a := range g.round.Answers() {
		if mayBeSet(a) {
			left++
		}
	}
	tell := &tellFailed
	if g.goesOn && left < l.need {
		tell = &tellNobody // nobody took it for a hold, and the next attempt is ahead
	}
	g.round.Then(func(i int, a answer) {
		if mayBeSet(a) {
			l.janitors[i].add(leftover{
				field: g.field, value: g.value, until: l.clock.Now().Add(g.ttl),
				tell: tell, sure: a.Err == nil && !a.Resent, notAfter: g.notAfter.of(i),
			})
		}
	})
}

// mayBeSet reports that a grant was answered with yes, or may have been one.
func mayBeSet(a answer) bool { return a.Err == nil && a.Value.yes || isUnknown(a.Err) || a.Resent }
