package redlock

import (
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// NodeEvent is news about one node.
type NodeEvent struct {
	Kind NodeEventKind
	Addr string // of the node
	Op   string // the operation that failed, or what a problem is about
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
	// denies a permission, may lose all locks, or sends a fencing number ahead of the clocks. Op tells its problems
	// apart. A problem that lasts is reported again after a day, and that of a number after a minute.
	NodeProblem NodeEventKind = "problem"
)

// maxEvents is how many events a slow listener may have before it misses some.
const maxEvents = 1000

// listener is one call of OnNode.
type listener struct {
	wake   signal.Signal // that there are events
	done   chan struct{} // closed by stop
	events []NodeEvent   // that fn was not called with yet, guarded by observed.mu
}

// OnNode calls fn with what the Locker notices about its nodes from now on, and first with [NodeFails] for each node
// that already fails. The calls come one after the other on their own goroutine, so the events of a node are in order.
// If fn blocks, only its own later calls wait; if a thousand of them wait, it misses the oldest. No node, whatever it
// answers, causes more than twenty events at once and then about one per second. While a node fails, the Locker asks it
// once per TTL whether it works again.
//
// fn may call any method of the Locker except Close, which waits for it. No call starts after stop has returned; one
// under way may still be running.
func (l *Locker) OnNode(fn func(NodeEvent)) (stop func()) {
	s := l.observed.listen()
	l.start(func() { l.listenTo(s, fn) }) // ends with stop or when Close starts; Close waits for it
	return sync.OnceFunc(func() { l.observed.leave(s) })
}

// listenTo passes the events to fn. While nodes fail, it asks them now and then, since the Locker may have no other reason
// to.
func (l *Locker) listenTo(s *listener, fn func(NodeEvent)) {
	again := time.NewTicker(l.settings.TTL)
	defer again.Stop()
	for {
		select {
		case <-s.wake:
			for l.open.Err() == nil && l.observed.pass(s, fn) {
			}
		case <-again.C:
			for _, node := range l.observed.failing() {
				quorum.Prepare(l.quorum, node, l.commands.inspect.Call(nil)).Send()
			}
		case <-s.done:
			return
		case <-l.open.Done():
			return
		}
	}
}

// listen adds a listener, which first gets the nodes that fail.
func (o *observed) listen() *listener {
	s := &listener{wake: signal.New(), done: make(chan struct{})}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listeners[s] = struct{}{}
	for i := range o.nodes {
		if o.nodes[i].failure.Kind != "" {
			s.addLocked(o.nodes[i].failure)
		}
	}
	return s
}

func (o *observed) leave(s *listener) {
	o.mu.Lock()
	delete(o.listeners, s)
	o.mu.Unlock()
	close(s.done)
}

func (s *listener) addLocked(e NodeEvent) {
	if s.events = append(s.events, e); len(s.events) > maxEvents {
		s.events = s.events[1:]
	}
	s.wake.Set()
}

// pass calls fn with the oldest event of the listener. It returns false if there is none, or the listener has left.
func (o *observed) pass(s *listener, fn func(NodeEvent)) bool {
	o.mu.Lock()
	_, listens := o.listeners[s]
	if !listens || len(s.events) == 0 {
		o.mu.Unlock()
		return false
	}
	e := s.events[0]
	s.events = s.events[1:]
	o.calling++
	o.mu.Unlock()
	fn(e)
	o.mu.Lock()
	o.calling--
	o.mu.Unlock()
	return true
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

// isCalling reports whether a function of a listener is still running.
func (o *observed) isCalling() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calling > 0
}
