package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/caller"
	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/nodeclock"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Acquire waits for the lock called name, 1 to 200 bytes of UTF-8 without invisible characters, and returns a lease on
// it. If ctx is done first, the error wraps both the cause of ctx and the last outcome. Without a deadline Acquire waits forever,
// also while no node answers: [Locker.Ready] says beforehand what the nodes do.
//
// Acquire tries again when a node reports that the lock was released, when the holder's lease must have run out, and,
// after a pause, when too few nodes answered. Callers of one process that wait for the same lock queue up, and together
// cost the nodes no more than one. Acquire gives up at once if waiting is pointless: if wrong passwords, missing
// permissions, servers before 6.2 or node lists of another length leave no quorum, or if ctx comes from a [Lease] of this lock that
// is still held: locks are not reentrant.
func (l *Locker) Acquire(ctx context.Context, name string, opts ...AcquireOption) (lease *Lease, err error) {
	r, found := l.settings.newRequest(name, opts)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	if err := l.heldByCaller(ctx, name, value{}); err != nil {
		return nil, err
	}
	ticket, err := l.queues.enter(ctx, l.open, name)
	if err != nil {
		return nil, err
	}
	w := newWait(l, r, ticket)
	defer func() { // even if the function that an election has called after each attempt panics
		if more := ticket.leave(lease != nil, err); !more && lease == nil && w.value.attempt > 0 {
			l.leaveLine(name, w.value.String(), &l.tells.leave) // nobody of this process waits any more
		}
	}()
	return w.acquire(ctx)
}

// TryAcquire makes one attempt to take the lock called name. It returns when the outcome is decided, at the latest
// after the node timeout; after up to five more where the Locker has to find out which list of nodes is in use: in its first call,
// and when the list has changed. The error is or wraps [ErrHeld], [ErrGuarded], [ErrNoQuorum], [ErrConfig], [ErrClosed], the
// cause of ctx, or [ErrExpired] if the answers took so long that nothing was left of the lease. After an error,
// anything the attempt set on the nodes is removed in the background.
func (l *Locker) TryAcquire(ctx context.Context, name string, opts ...AcquireOption) (*Lease, error) {
	r, found := l.settings.newRequest(name, opts)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	if err := l.heldByCaller(ctx, name, value{}); err != nil {
		return nil, err
	}
	v := value{contender: newContenderID(), attempt: 1, text: r.text}
	lease, answers, err := l.attempt(ctx, newGrant(r, v), l.askAll)
	if answers != nil && l.relists(ctx, err) {
		v.attempt++
		lease, _, err = l.attempt(ctx, newGrant(r, v), l.askAll)
	}
	return lease, err
}

// inside returns a context for work under the lease.
func (s *Lease) inside(ctx context.Context) context.Context {
	return caller.With(ctx, "the work under the lock", s.Name(), s)
}

// heldByCaller returns an error if the caller works under a lease of the lock: one of this Locker, or the one that holder is, as
// the nodes say.
func (l *Locker) heldByCaller(ctx context.Context, name string, holder value) error {
	err := caller.Where(ctx, func(owner any) bool {
		s, ok := owner.(*Lease)
		return ok && s.Name() == name && (s.locker == l || s.grant.value == holder.String()) && s.Valid()
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w by this call: acquire %q: locks are not reentrant: %w", ErrHeld, name, err)
}

// answer and round are the types that most scripts use: what nodes say about one lock.
type (
	answer = quorum.Answer[reply]
	round  = quorum.Round[reply]
)

// grant is the request of one attempt, and what the nodes have answered to it.
type grant struct {
	name      string
	field     string // key of the record in the hash
	value     string // encoded
	ttl       time.Duration
	ttlMillis int64      // the same, as the argument of scripts
	extend    *Extension // of the lease; nil: it is not extended in the background
	waiter    string     // the process to list as waiting if refused, and for how many ms it is patient; empty: none
	listing   nodeSet    // nodes that list the waiter
	goesOn    bool       // another attempt follows if this one fails
	notAfter  notAfter
	round     *round
	answered  growingSet // nodes known to have answered; see known
	repaired  growingSet // nodes that were sent a repair

	unconfirmed atomic.Bool // the last extension was not confirmed by a majority
}

func newGrant(r request, v value) *grant {
	return &grant{
		name: r.name, field: fieldOf(r.name), value: v.String(), ttl: r.ttl, ttlMillis: r.ttl.Milliseconds(), extend: r.extend,
	}
}

// fieldOf returns the hash field of a lock's record.
func fieldOf(name string) string { return "n:" + name }

func nameOf(field string) string { return field[len("n:"):] }

// AppendArgs appends the arguments of acquire for the node.
func (g *grant) AppendArgs(node int, args []any) []any {
	waiter := &nobody
	if g.listing.has(node) {
		waiter = &g.waiter
	}
	notAfter := g.notAfter.argument(node, g.notAfter.until, &g.notAfter.sent[node].argument)
	return append(args, &g.field, &g.value, &g.ttlMillis, notAfter, waiter)
}

// Name keeps requests for the same lock apart: one call of the script would grant the lock to both.
func (g *grant) Name() string { return g.field }

var nobody string // argument for no waiter

// listIn asks these nodes to list the process as waiting for the lock if they refuse it.
func (g *grant) listIn(nodes []int, who string) {
	g.goesOn, g.waiter = true, who
	for _, node := range nodes {
		g.listing = g.listing.with(node)
	}
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

// placed returns since when the node has had the lock by this grant; zero if that is not known.
func (g *grant) placed(node int) time.Time {
	a := g.round.Answer(node)
	if a.Err != nil || !a.Value.yes || a.Resent || g.repaired.load().has(node) {
		return time.Time{}
	}
	return a.Received
}

// asker asks the nodes, either all at once or some before the others.
type asker func(ctx context.Context, call quorum.Call[reply]) (*round, error)

// askAll asks all nodes at once.
func (l *Locker) askAll(ctx context.Context, call quorum.Call[reply]) (*round, error) {
	return quorum.Ask(ctx, l.quorum, call, l.jury.granted)
}

// attempt asks the nodes once. If it fails, it returns their answers, or none if it asked no node.
func (l *Locker) attempt(ctx context.Context, g *grant, ask asker) (*Lease, []answer, error) {
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("redlock: acquire %q: %w", g.name, context.Cause(ctx))
	}
	if !l.begin() {
		return nil, nil, fmt.Errorf("%w: acquire %q", ErrClosed, g.name)
	}
	defer l.calls.Done()
	member, err := l.awaitList(ctx, "acquire", g.name, true)
	if err != nil {
		return nil, nil, err
	}
	sent := l.clock.Now()
	g.notAfter = newNotAfter(l.clocks, l.size, sent.Add(l.settings.NodeTimeout))
	var cause error
	g.round, cause = ask(ctx, member.acquire.Call(g))

	lease, err := l.win(ctx, g, sent, cause)
	if err != nil {
		g.goesOn = g.goesOn && ctx.Err() == nil
		l.clean(g)
		return nil, g.round.Answers(), err
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

// win makes a lease from the answers to an attempt. After an error, the caller must clean up what was granted.
func (l *Locker) win(ctx context.Context, g *grant, sent time.Time, cause error) (*Lease, error) {
	var t tally
	var err error
	g.round.View(func(answers []answer) {
		if t = l.jury.count(answers, timed); t.yes < l.need {
			err = l.jury.failed("acquire", g.name, answers, timed, ErrHeld, cause)
		}
	})
	if err != nil {
		return nil, err
	}
	lease := &Lease{locker: l, grant: g, token: t.number, base: ctx}
	if t.uneven {
		if err := lease.confirm(ctx); err != nil {
			return nil, err
		}
	}
	now, deadline := l.clock.Now(), validUntil(sent, g.ttl)
	if !now.Before(deadline) {
		return nil, fmt.Errorf("%w: acquire %q: the answers took %v, the ttl is %v", ErrExpired, g.name, now.Sub(sent), g.ttl)
	}
	if l.isClosed() {
		return nil, fmt.Errorf("%w: acquire %q", ErrClosed, g.name)
	}
	lease.deadline = deadline
	l.leases.add(lease)
	return lease, nil
}

// validUntil returns when a hold ends for its holder. It starts when the request was sent, because a node may have started
// to count the TTL right then. sent is by the Locker's clock, read before the first byte left.
func validUntil(sent time.Time, ttl time.Duration) time.Time {
	return sent.Add(ttl - clock.Allowance(ttl))
}

// confirm raises the numbers of a majority to at least the token, before anybody sees it. Any later majority shares a node
// with this one, so the next token is larger.
func (s *Lease) confirm(ctx context.Context) error {
	l := s.locker
	e := newExtending(l.jury, []*Lease{s})
	round, cause := quorum.Ask(ctx, l.quorum, l.commands.extend.Call(e), e.isDecided)
	answers := e.answersTo(nil, 0, round.Answers())
	if l.jury.count(answers, timed).yes >= l.need {
		return nil
	}
	return l.jury.failed("raise the fence of", s.grant.name, answers, timed, ErrLost, cause)
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
				tell: l.tells.after(g, i, looksHeld), notAfter: g.notAfter.of(i, a),
			})
		}
	})
}

// notAfter holds for each node the instant, by the node's own clock, after which it must not act on a grant or a repair: by
// then the caller no longer waits for an answer. A hung node that reads the request from its socket hours later does
// nothing, so it leaves no unknown record behind.
type notAfter struct {
	clocks *nodeclock.Clocks
	until  time.Time // when the caller stops waiting for the grant
	sent   []sentNotAfter
}

// sentNotAfter is the instant sent to one node, in microseconds since 1970. A node is inspected before it is asked, so its
// clock is known. If it were not, the instant would be 0, and the node would do nothing.
type sentNotAfter struct {
	argument int64        // of the grant; owned by the worker that sends it
	noted    atomic.Int64 // the latest one that was sent
}

func newNotAfter(clocks *nodeclock.Clocks, nodes int, until time.Time) notAfter {
	return notAfter{clocks: clocks, until: until, sent: make([]sentNotAfter, nodes)}
}

// argument sets and returns the script argument for the node, of a request for whose answer the caller waits until then.
func (n *notAfter) argument(node int, until time.Time, argument *int64) *int64 {
	if _, latest, ok := n.clocks.Bounds(node, until); ok {
		*argument = max(*argument, latest+clock.Granularity.Microseconds()) // the request may be sent twice
		noted := &n.sent[node].noted
		noted.Store(max(noted.Load(), *argument))
	}
	return argument
}

// of returns the last instant, by its clock, at which the node may still act on the grant to which it gave that answer; 0
// if it no longer does.
func (n *notAfter) of(node int, a answer) int64 {
	if !mayAct(a) {
		return 0
	}
	return n.sent[node].noted.Load() // 0 if it was not sent
}

// mostNodes is how many nodes a Locker can have, limited by nodeSet.
const mostNodes = 64

// nodeSet is a set of nodes, by their index in the list.
type nodeSet uint64

func (s nodeSet) has(node int) bool { return s>>node&1 == 1 }

func (s nodeSet) with(node int) nodeSet { return s | 1<<node }

// growingSet is a nodeSet that several goroutines may add to.
type growingSet struct{ nodes atomic.Uint64 }

func (s *growingSet) load() nodeSet { return nodeSet(s.nodes.Load()) }

func (s *growingSet) add(more nodeSet) {
	if s.load()|more != s.load() {
		s.nodes.Or(uint64(more))
	}
}
