// Package notify receives what Redis nodes publish. A message is a hint: it may be missed for lack of a permission or a
// connection. So whoever waits for a message needs a timer as well.
//
// A shared channel is received from a few nodes only, the first ones of the subscriber's order. Otherwise every message
// would be sent once for each pair of a subscriber and a node. When one of these nodes fails, the next one is added. A
// private channel is received from all nodes. There is one connection to each node in use, however many channels there
// are.
package notify

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// nodesPerChannel is the number of nodes from which a shared channel is received.
	nodesPerChannel = 2
	// maxIdle is how many channels stay subscribed although nobody waits for them: whoever waited once often waits
	// again.
	maxIdle = 100
	// maxPending and maxOwnPending are how many events a subscription keeps. If there are more, one event says that
	// some were missed. On a private channel, each event is about something else.
	maxPending    = 32
	maxOwnPending = 10_000
)

// Config is what a Notifier needs.
type Config struct {
	Open    context.Context           // ends everything when it is done
	Start   func(func()) bool         // runs a function in the background; its owner waits for it at the end
	Timeout time.Duration             // for connecting
	Denied  time.Duration             // pause between attempts if subscribing is not permitted: permissions rarely change
	Seen    func(node int, err error) // called with each failure, and with nil when a subscription is confirmed
}

// Notifier receives what nodes publish. Its methods are safe for concurrent use.
type Notifier struct {
	config      Config
	subscribers []*subscriber // one per node

	mu       sync.Mutex // guards the fields below, those of all channels and subscriptions, and the subscribers' own
	channels map[string]*channel
	idle     *list.List // of *channel, those without a subscription, the oldest first
}

// channel is a channel that the Notifier listens to.
type channel struct {
	name  string
	nodes map[int]hearing // the nodes on which it is wanted
	own   bool            // private: each node publishes something else, so it is received from all nodes
	subs  map[*Subscription]struct{}
	idle  *list.Element // its place in Notifier.idle
}

// hearing is the state of a channel on a node.
type hearing int

const (
	asked hearing = iota // not confirmed yet
	heard
	away // the connection is broken, or the node refuses
)

// count returns how many nodes have not confirmed the channel yet, and from how many it is received.
func (c *channel) count() (soon, now int) {
	for _, h := range c.nodes {
		switch h {
		case asked:
			soon++
		case heard:
			now++
		}
	}
	return soon, now
}

// isHeard reports whether no confirmation is pending and the channel is received from at least one node. Then whoever
// asks a node now learns of later changes there.
func (c *channel) isHeard() bool {
	soon, now := c.count()
	return soon == 0 && now > 0
}

// Event is what a subscription receives.
type Event struct {
	Node int
	Text string // of a message
	// Missed says that messages may have been missed, because the subscription was just made or renewed, or there were
	// too many. For a private channel it also says that messages will be missed, because the node has failed.
	Missed bool
}

// Subscription is one listener of one channel.
type Subscription struct {
	notifier *Notifier
	channel  *channel
	order    []int
	signal   chan struct{} // holds one signal that there are events
	ready    chan struct{} // closed when the nodes have confirmed the subscription

	// Guarded by notifier.mu.
	isReady bool
	late    bool // nobody waits for Ready any more
	pending []Event
	closed  bool
}

// New makes a Notifier of nodes.
func New(nodes []redis.UniversalClient, c Config) *Notifier {
	n := &Notifier{config: c, channels: make(map[string]*channel), idle: list.New()}
	for i, client := range nodes {
		if single, ok := client.(*redis.Client); ok {
			client = single.WithTimeout(c.Timeout) // dialing cannot be canceled
		}
		n.subscribers = append(n.subscribers, &subscriber{
			notifier: n, node: i, client: client, changed: make(chan struct{}, 1), want: make(map[string]bool),
		})
	}
	return n
}

// Subscribe starts to listen to a shared channel, on the first nodes of order.
func (n *Notifier) Subscribe(name string, order []int) *Subscription {
	return n.subscribe(name, order, false)
}

// SubscribeAll starts to listen to a private channel, on all nodes.
func (n *Notifier) SubscribeAll(name string) *Subscription {
	all := make([]int, len(n.subscribers))
	for i := range all {
		all[i] = i
	}
	return n.subscribe(name, all, true)
}

func (n *Notifier) subscribe(name string, order []int, own bool) *Subscription {
	s := &Subscription{
		notifier: n, order: order, signal: make(chan struct{}, 1), ready: make(chan struct{}),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.channels[name]
	if c == nil {
		c = &channel{name: name, own: own, nodes: make(map[int]hearing), subs: make(map[*Subscription]struct{})}
		n.channels[name] = c
	}
	if c.idle != nil {
		n.idle.Remove(c.idle)
		c.idle = nil
	}
	s.channel = c
	c.subs[s] = struct{}{}
	for (own || len(c.nodes) < nodesPerChannel) && n.extendLocked(c, order) {
	}
	if c.isHeard() {
		s.readyLocked()
	}
	return s
}

// extendLocked listens to the channel on the next node of order. It returns false if there is none.
func (n *Notifier) extendLocked(c *channel, order []int) bool {
	for _, node := range order {
		if _, ok := c.nodes[node]; !ok {
			c.nodes[node] = asked
			n.subscribers[node].wantLocked(c.name, true)
			return true
		}
	}
	return false
}

// Hears reports whether messages of the node are received.
func (s *Subscription) Hears(node int) bool {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	h, ok := s.channel.nodes[node]
	return ok && h == heard
}

// C returns a channel that holds a signal while there are events.
func (s *Subscription) C() <-chan struct{} { return s.signal }

// Ready returns a channel that is closed when the nodes have confirmed the subscription: from then on messages are
// received.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Late says that the caller no longer waits for Ready. When the subscription is confirmed, an event then says that
// earlier messages may have been missed.
func (s *Subscription) Late() {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	s.late = !s.isReady
}

// Next returns the oldest event that was not returned yet, or false if there is none.
func (s *Subscription) Next() (Event, bool) {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	if len(s.pending) == 0 {
		return Event{}, false
	}
	e := s.pending[0]
	s.pending = s.pending[1:]
	if len(s.pending) > 0 {
		s.signalLocked()
	}
	return e, true
}

// Close ends listening.
func (s *Subscription) Close() {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	delete(s.channel.subs, s)
	if len(s.channel.subs) > 0 {
		return
	}
	s.channel.idle = n.idle.PushBack(s.channel)
	if n.idle.Len() > maxIdle {
		oldest := n.idle.Remove(n.idle.Front()).(*channel)
		delete(n.channels, oldest.name)
		for node := range oldest.nodes {
			n.subscribers[node].wantLocked(oldest.name, false)
		}
	}
}

func (s *Subscription) readyLocked() {
	if !s.isReady {
		s.isReady = true
		close(s.ready)
	}
}

func (s *Subscription) signalLocked() {
	select {
	case s.signal <- struct{}{}:
	default: // it is signalled already
	}
}

func (s *Subscription) addLocked(e Event) {
	most := maxPending
	if s.channel.own {
		most = maxOwnPending
	}
	if len(s.pending) >= most {
		s.pending = append(s.pending[:0], Event{Node: e.Node, Missed: true})
	}
	s.pending = append(s.pending, e)
	s.signalLocked()
}

// confirmed notes that a node has confirmed a subscription. Earlier messages have been missed, unless another node that
// publishes the same was received all the time.
func (n *Notifier) confirmed(node int, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.channels[name]
	if c == nil {
		return
	}
	if _, ok := c.nodes[node]; !ok {
		return
	}
	_, before := c.count()
	c.nodes[node] = heard
	for s := range c.subs {
		if s.isReady && (before == 0 || c.own) || !s.isReady && s.late {
			s.addLocked(Event{Node: node, Missed: true})
		}
		if c.isHeard() {
			s.readyLocked()
		}
	}
}

// message passes what a node has published to the subscriptions.
func (n *Notifier) message(node int, name, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.channels[name]; c != nil {
		for s := range c.subs {
			s.addLocked(Event{Node: node, Text: text})
		}
	}
}

// away notes that a node has failed or refuses, and adds another node to its channels.
func (n *Notifier) away(node int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name := range n.subscribers[node].want {
		c := n.channels[name]
		if c == nil {
			continue
		}
		lost := c.nodes[node] == heard
		c.nodes[node] = away
		for s := range c.subs {
			if soon, now := c.count(); soon+now < nodesPerChannel {
				n.extendLocked(c, s.order)
			}
			if lost && c.own {
				s.addLocked(Event{Node: node, Missed: true})
			}
			if c.isHeard() {
				s.readyLocked()
			}
		}
	}
}
