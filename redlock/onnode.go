package redlock

import (
	"context"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

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
	// denies a permission that one can do without, may lose all locks, or sends a fencing number ahead of the clocks. Op
	// tells its problems apart. A problem that lasts is reported again after a day, and that of a number after a minute.
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
// still be running.
func (l *Locker) OnNode(fn func(NodeEvent)) (stop func()) {
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
