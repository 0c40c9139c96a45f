package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/lists"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/internal/retry"
)

const (
	// awayAfter is how long a node must fail before it is reported. One slow answer or stale connections are not worth
	// a report.
	awayAfter = time.Second
	// problemEvery is the time between two reports of the same problem.
	problemEvery = 24 * time.Hour
	// urgentEvery is the same for implausible numbers, missing rights and addresses of several servers.
	urgentEvery = time.Minute
	// number is the Op of that problem, subscribe that of subscriptions, and addressOf that of addresses of several servers.
	number, subscribe, addressOf = "number", "subscribe", "address"
)

// observed is what the Locker has noticed about its nodes.
type observed struct {
	settings *Settings
	jury     *jury
	janitors []*janitor // see Locker
	seeLabel func(string)

	mu        sync.Mutex // guards the fields below
	nodes     []nodeState
	listeners map[chan *NodeEvent]struct{} // of the calls of OnNode that have not ended
}

// nodeState is what the Locker has noticed about one node.
type nodeState struct {
	inspection                   // the latest; the longest lease is also learned from a guard
	guarded    bool              // as last reported
	failing    time.Time         // start of the current failures; zero: the latest call succeeded
	failure    NodeEvent         // as reported; zero: the node works
	problems   map[about]problem // that last, as far as is known
	pace       retry.Pace        // of events: the node controls its clock, its guard and its problems
	address
}

// about identifies a problem of a node that answers: a NodeProblem with something, or an operation for which it is a NodeDenies.
type about struct {
	kind NodeEventKind
	op   string
}

type problem struct {
	err      error // as reported
	reported time.Time
}

func newObserved(s *Settings, nodes int) *observed {
	o := &observed{settings: s, nodes: make([]nodeState, nodes), listeners: make(map[chan *NodeEvent]struct{})}
	for i := range o.nodes {
		o.nodes[i].problems, o.nodes[i].pace = make(map[about]problem), retry.Pace{Burst: 20, Every: time.Second}
	}
	return o
}

// note updates the state by what was seen of the node, and reports whether that is news.
func (s *nodeState) note(e *NodeEvent) (news bool) {
	switch e.Kind {
	case NodeWorks:
		delete(s.problems, about{NodeDenies, e.Op})
		if s.failing.IsZero() {
			return false
		}
		news, e.Duration = s.failure.Kind != "", time.Since(s.failing)
		s.failing, s.failure = time.Time{}, NodeEvent{}
		return news
	case NodeFails:
		if s.failing.IsZero() {
			s.failing = time.Now()
		}
		if news = s.failure.Kind == "" && time.Since(s.failing) >= awayAfter; news {
			s.failure = *e
		}
		return news
	case NodeGuarded, NodeGrants:
		guarded := e.Kind == NodeGuarded
		if news = s.guarded != guarded && s.pace.Allow(time.Now()); news {
			s.guarded = guarded
		}
		return news
	case NodeDenies, NodeProblem:
		return s.noteProblem(e)
	}
	return s.pace.Allow(time.Now())
}

// noteProblem is note for a problem, which is over if it has no error. It is news if its text is another, or if it still
// lasts after a while. The texts of numbers always differ.
func (s *nodeState) noteProblem(e *NodeEvent) (news bool) {
	id := about{e.Kind, e.Op}
	if e.Err == nil {
		delete(s.problems, id)
		return false
	}
	every := problemEvery
	if e.Kind == NodeDenies || e.Op == number || e.Op == addressOf {
		every = urgentEvery
	}
	p, now := s.problems[id], time.Now()
	news = now.Sub(p.reported) >= every || e.Op != number && p.err.Error() != e.Err.Error()
	if news = news && s.pace.Allow(now); news {
		p.err, p.reported = e.Err, now
	}
	s.problems[id] = p
	return news
}

// denied returns what a node denies, or nil.
func (o *observed) denied(node int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []error
	for id, p := range o.nodes[node].problems {
		if id.kind == NodeDenies {
			all = append(all, p.err)
		}
	}
	slices.SortFunc(all, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

// inspection returns the latest inspection of a node.
func (o *observed) inspection(node int) inspection {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.nodes[node].inspection
}

// replace sets the latest inspection of a node, and returns the one before.
func (o *observed) replace(node int, n inspection) (before inspection) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, o.nodes[node].inspection = o.nodes[node].inspection, n
	return before
}

// report notes what was seen of a node. If it is news, it passes it to the listeners.
func (o *observed) report(node int, e NodeEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.Addr = o.jury.nodes.Addr(node)
	if !o.nodes[node].note(&e) {
		return
	}
	for events := range o.listeners {
		news := e // a call that is no news costs no allocation
		push(events, &news)
	}
}

// problem reports a problem of a node that answers, or that it has not, if err is nil.
func (o *observed) problem(node int, op string, err error) {
	o.report(node, NodeEvent{Kind: NodeProblem, Op: op, Err: err})
}

// see observes every exchange with a node, before its answer is used.
func (o *observed) see(node int, e quorum.Exchange) {
	if e.Time != 0 {
		if jumped := o.jury.clocks.Note(node, e.Sent, e.Received, e.Time, e.Identity); jumped != 0 {
			o.report(node, NodeEvent{Kind: NodeStepped, Duration: jumped})
		}
	}
	o.seeOutcome(node, e.Script, e.Err)
	if e.Script != lists.Name {
		o.seeLabel(e.Label)
	}
	if e.Err == nil {
		return
	}
	switch refusal.Code(e.Err) {
	case refusal.ReadOnly:
		o.jury.nodes.Inspect(node)
	case refusal.OutOfMemory:
		o.janitors[node].makeRoom()
	}
}

// seeOutcome observes whether an operation on a node has failed.
func (o *observed) seeOutcome(node int, op string, err error) {
	switch {
	case err == nil:
		o.report(node, NodeEvent{Kind: NodeWorks, Op: op})
	case isNumberError(err):
		o.problem(node, number, err)
	case isRecordError(err): // a problem of one lock
	case errors.Is(err, quorum.ErrHeldUp): // a problem of this process
	case op == subscribe && slices.Contains([]string{refusal.NoPerm, refusal.UnknownCommand}, refusal.Code(err)):
		o.problem(node, op, err) // the node works, but waiting callers do not learn of a release
	case refusal.Code(err) == refusal.NoPerm:
		o.report(node, NodeEvent{Kind: NodeDenies, Op: op, Err: err})
	default:
		o.report(node, NodeEvent{Kind: NodeFails, Op: op, Err: err})
	}
}

// seeGrant observes a node's answer to a grant or a repair.
func (o *observed) seeGrant(node int, a answer) {
	refused, guarded := errors.AsType[guardedError](a.Err)
	if err := cmp.Or(a.Err, o.jury.checkAhead(&a)); isNumberError(err) {
		o.problem(node, number, err)
	}
	switch {
	case errors.Is(a.Err, guard.ErrNoIdentity):
		o.problem(node, "inspect", a.Err) // as when it is inspected
	case guarded:
		o.seeLongest(node, a.Value.longest)
		o.report(node, NodeEvent{Kind: NodeGuarded, Duration: refused.left})
	case a.Err == nil && a.Value.yes:
		o.janitors[node].granted()
		o.report(node, NodeEvent{Kind: NodeGrants})
	}
}

// seeRelease observes a node's answer to a release.
func (o *observed) seeRelease(node int, a answer) {
	if a.Err == nil && a.Value.unpublished {
		o.problem(node, "publish", errors.New("PUBLISH is not permitted: waiting callers do not learn of a release and "+
			"wait until the holder's lease has expired"))
	}
}

// seeLongest observes the longest lease that a node knows of: its guard lasts for that long.
func (o *observed) seeLongest(node int, longest time.Duration) {
	o.mu.Lock()
	o.nodes[node].longest = longest
	o.mu.Unlock()
	var err error
	if longest > o.settings.MaxTTL {
		err = fmt.Errorf("%w: leases of up to %v are in use under prefix %q, here max ttl is %v: all users of a prefix "+
			"must have the same max ttl", ErrConfig, longest, o.settings.KeyPrefix, o.settings.MaxTTL)
	}
	o.problem(node, "max ttl", err)
}

// quarantine returns how long a node does not count at most after its clock was stepped: the longest lease that any node
// knows of. One wrong number cannot make it longer than a guard.
func (o *observed) quarantine() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.longestLocked()
}

func (o *observed) longestLocked() time.Duration {
	own, longest := o.settings.MaxTTL, time.Duration(0)
	for i := range o.nodes {
		longest = max(longest, o.nodes[i].longest)
	}
	return max(own, min(longest, max(24*time.Hour, 100*own)))
}

// NodeEvent is news about one node.
type NodeEvent struct {
	Kind NodeEventKind
	Addr string // of the node
	Op   string // the operation that failed or works, or what a problem is about
	Err  error  // what happened
	Lock string // the name of the lock that was repaired
	// Duration is how long the node failed, how long it grants nothing, or by how much its clock was stepped.
	Duration time.Duration
}

// NodeEventKind is the kind of a [NodeEvent]. Other versions may have more kinds.
type NodeEventKind string

const (
	// NodeFails says that all calls to the node have failed for a second, or for the time between two calls if that is
	// longer. Err is the latest error of operation Op.
	NodeFails NodeEventKind = "fails"
	// NodeWorks says that the node answers again. It failed for Duration.
	NodeWorks NodeEventKind = "works"
	// NodeGuarded says that the node grants nothing for Duration, because it may have lost a lease.
	NodeGuarded NodeEventKind = "guarded"
	// NodeGrants says that the node grants again.
	NodeGrants NodeEventKind = "grants"
	// NodeChanged says that the identity of the server is another one: Err says whether it is another run of the
	// server. A guard follows.
	NodeChanged NodeEventKind = "changed"
	// NodeStepped says that the node's clock was stepped by Duration. With three nodes or more, its votes may not
	// count for some time, at most MaxTTL.
	NodeStepped NodeEventKind = "stepped"
	// NodeRepaired says that Lock was restored on the node, which had lost it.
	NodeRepaired NodeEventKind = "repaired"
	// NodeProblem says that the node needs attention although it answers, and Err says why: it is not fit to be a node,
	// denies a permission that one can do without, may lose all locks, sends a fencing number ahead of the clocks, or its
	// address leads to several servers. Op tells its problems apart. A problem that lasts is reported again after a day,
	// and that of a number or an address after a minute.
	NodeProblem NodeEventKind = "problem"
	// NodeDenies says that the node does not carry out Op because the user lacks a right, which Err names. It is reported
	// again after a minute until the node carries out Op, whatever else it answers; see also [NodeStatus].
	NodeDenies NodeEventKind = "denies"
)

// maxEvents is how many events a slow listener may have before it misses some.
const maxEvents = 1000

// OnNode calls fn with what the Locker notices about its nodes from now on, and first with [NodeFails] for each node
// that already fails. The calls come one after the other on their own goroutine, so the events of a node are in order.
// If fn blocks, only its own later calls wait; if a thousand of them wait, it misses the oldest. No node, whatever it
// answers, causes more than twenty events at once and then about one per second. While a node fails, the Locker asks it
// once per TTL whether it works again.
//
// fn may call any method of the Locker. No call starts after stop or [Locker.Close] has returned; one under way may
// still be running. OnNode panics if fn is nil.
func (l *Locker) OnNode(fn func(NodeEvent)) (stop func()) {
	if fn == nil {
		panic("redlock: OnNode(nil)")
	}
	ctx, stop := context.WithCancel(l.open)
	events := l.observed.listen()
	task := func() { // ends with stop or when Close starts; Close waits for it for a moment
		defer l.observed.leave(events)
		l.listenTo(ctx, events, fn)
	}
	if !l.startTelling(task) {
		l.observed.leave(events)
	}
	return stop
}

// listenTo passes the events to fn. While nodes fail, it asks them now and then, since the Locker may have no other reason
// to.
func (l *Locker) listenTo(ctx context.Context, events <-chan *NodeEvent, fn func(NodeEvent)) {
	again := time.NewTicker(l.settings.TTL)
	defer again.Stop()
	for {
		select {
		case e := <-events:
			if ctx.Err() != nil {
				return
			}
			fn(*e)
		case <-again.C:
			for _, node := range l.observed.failing() {
				quorum.Prepare(l.quorum, node, l.commands.inspect.Call(nil)).Send()
			}
		case <-ctx.Done():
			return
		}
	}
}

// listen returns a channel of events, which first has the nodes that fail.
func (o *observed) listen() chan *NodeEvent {
	events := make(chan *NodeEvent, maxEvents)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.nodes {
		if failure := o.nodes[i].failure; failure.Kind != "" {
			push(events, &failure)
		}
	}
	o.listeners[events] = struct{}{}
	return events
}

func (o *observed) leave(events chan *NodeEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.listeners, events)
}

// failing returns the nodes that were reported as failing.
func (o *observed) failing() []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []int
	for i := range o.nodes {
		if o.nodes[i].failure.Kind != "" {
			all = append(all, i)
		}
	}
	return all
}
