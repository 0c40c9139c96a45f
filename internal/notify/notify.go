// Package notify receives messages that are published on Redis nodes. A message is a hint. Without a connection or the
// right to subscribe it is missed, so a caller that waits for one also needs a timer.
//
// A Notifier subscribes to a shared channel on a few nodes only, the first ones of the subscriber's order. On all nodes,
// each message would be sent once for each pair of a node and a subscriber. If one of these nodes is away, the next one is
// added. It subscribes to a private channel, which has one subscriber, on all nodes. All channels share one connection to
// each node.
package notify

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// nodesPerChannel is the number of nodes on which a Notifier subscribes to a shared channel.
	nodesPerChannel = 2
	// maxIdle is the number of channels that stay subscribed without a Subscription. A process that waited for a channel
	// often waits for it again.
	maxIdle = 100
	// maxPending and maxPrivatePending bound the events that a Subscription keeps. If there are more, it reports missed
	// messages instead. On a private channel each message is about something else.
	maxPending        = 32
	maxPrivatePending = 10_000
)

// Config is what a Notifier needs.
type Config struct {
	Open    context.Context           // the Notifier stops when it is done
	Start   func(func()) bool         // runs a function in the background; the caller waits for it at the end
	Timeout time.Duration             // for making a connection
	Denied  time.Duration             // between attempts if the user may not subscribe, because rights rarely change
	Seen    func(node int, err error) // called with each failure, and with nil after it is over
}

// Notifier receives what nodes publish. Its methods are safe for concurrent use.
type Notifier struct {
	config      Config
	subscribers []*subscriber // one a node

	mu       sync.Mutex // guards the fields below, those of all channels and subscriptions, and the subscribers' own
	channels map[string]*channel
	idle     *list.List // of *channel: those without a Subscription, oldest first
}

// channel is a channel that the Notifier subscribes to.
type channel struct {
	name    string
	nodes   map[int]state // of the subscription on each node that has one
	private bool          // subscribed to on all nodes
	subs    map[*Subscription]struct{}
	idle    *list.Element // in Notifier.idle, if there are no subs
}

// state is the state of the subscription to a channel on one node.
type state int

const (
	pending state = iota // not confirmed yet
	confirmed
	away // the connection is broken, or the node refuses
)

// count returns the numbers of nodes where the subscription is pending and confirmed.
func (c *channel) count() (waiting, receiving int) {
	for _, s := range c.nodes {
		switch s {
		case pending:
			waiting++
		case confirmed:
			receiving++
		}
	}
	return waiting, receiving
}

// isConfirmed reports whether a node has confirmed the subscription and no node has yet to do so. Whatever a node
// publishes from then on is received.
func (c *channel) isConfirmed() bool {
	waiting, receiving := c.count()
	return waiting == 0 && receiving > 0
}

// Event is a message, or a hint that messages were missed.
type Event struct {
	Node int
	Text string // of a message
	// Missed says that messages of the node may have been missed, because the subscription was just made or repeated, or
	// because there were too many. On a private channel it also says that the node is away, so that messages will be missed.
	Missed bool
}

// Subscription receives the messages of one channel.
type Subscription struct {
	notifier *Notifier
	channel  *channel
	order    []int
	wake     chan struct{} // holds a token while there are events
	ready    chan struct{} // closed when the nodes have confirmed the subscription

	// Guarded by notifier.mu.
	isReady bool
	late    bool // see Late
	events  []Event
	closed  bool
}

// New makes a Notifier of nodes.
func New(nodes []redis.UniversalClient, c Config) *Notifier {
	n := &Notifier{config: c, channels: make(map[string]*channel), idle: list.New()}
	for i, client := range nodes {
		if single, ok := client.(*redis.Client); ok {
			client = single.WithTimeout(c.Timeout) // a dial cannot be canceled
		}
		n.subscribers = append(n.subscribers, &subscriber{
			notifier: n, node: i, client: client, changed: make(chan struct{}, 1), want: make(map[string]bool),
		})
	}
	return n
}

// Subscribe subscribes to a shared channel on the first nodes of order.
func (n *Notifier) Subscribe(name string, order []int) *Subscription {
	return n.subscribe(name, order, false)
}

// SubscribeAll subscribes to a private channel on all nodes.
func (n *Notifier) SubscribeAll(name string) *Subscription {
	all := make([]int, len(n.subscribers))
	for i := range all {
		all[i] = i
	}
	return n.subscribe(name, all, true)
}

func (n *Notifier) subscribe(name string, order []int, private bool) *Subscription {
	s := &Subscription{
		notifier: n, order: order, wake: make(chan struct{}, 1), ready: make(chan struct{}),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.channels[name]
	if c == nil {
		c = &channel{name: name, private: private, nodes: make(map[int]state), subs: make(map[*Subscription]struct{})}
		n.channels[name] = c
	}
	if c.idle != nil {
		n.idle.Remove(c.idle)
		c.idle = nil
	}
	s.channel = c
	c.subs[s] = struct{}{}
	for (private || len(c.nodes) < nodesPerChannel) && n.extendLocked(c, order) {
	}
	if c.isConfirmed() {
		s.readyLocked()
	}
	return s
}

// extendLocked subscribes to the channel on the next node of order. It returns false if there is none.
func (n *Notifier) extendLocked(c *channel, order []int) bool {
	for _, node := range order {
		if _, ok := c.nodes[node]; !ok {
			c.nodes[node] = pending
			n.subscribers[node].wantLocked(c.name, true)
			return true
		}
	}
	return false
}

// Receives reports whether the node has confirmed the subscription.
func (s *Subscription) Receives(node int) bool {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	state, ok := s.channel.nodes[node]
	return ok && state == confirmed
}

// C returns a channel that holds a value while [Subscription.Next] has events.
func (s *Subscription) C() <-chan struct{} { return s.wake }

// Ready returns a channel that is closed when the nodes have confirmed the subscription. Later messages are received.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Late says that the caller no longer waits for Ready. What is published before Ready is then reported as missed.
func (s *Subscription) Late() {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	s.late = !s.isReady
}

// Next returns the oldest event that was not returned yet, or false if there is none.
func (s *Subscription) Next() (Event, bool) {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	if len(s.events) == 0 {
		return Event{}, false
	}
	e := s.events[0]
	s.events = s.events[1:]
	if len(s.events) > 0 {
		s.wakeLocked()
	}
	return e, true
}

// Close ends the Subscription. The Notifier keeps the channel for a while.
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

func (s *Subscription) wakeLocked() {
	select {
	case s.wake <- struct{}{}:
	default: // it is awake already
	}
}

func (s *Subscription) addLocked(e Event) {
	most := maxPending
	if s.channel.private {
		most = maxPrivatePending
	}
	if len(s.events) >= most {
		s.events = append(s.events[:0], Event{Node: e.Node, Missed: true})
	}
	s.events = append(s.events, e)
	s.wakeLocked()
}

// confirm records that a node has confirmed a subscription. Earlier messages of it were missed, but on a shared channel
// another node may have sent the same ones.
func (n *Notifier) confirm(node int, name string) {
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
	c.nodes[node] = confirmed
	for s := range c.subs {
		if s.isReady && (before == 0 || c.private) || !s.isReady && s.late {
			s.addLocked(Event{Node: node, Missed: true})
		}
		if c.isConfirmed() {
			s.readyLocked()
		}
	}
}

// message passes a node's message to the subscriptions.
func (n *Notifier) message(node int, name, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.channels[name]; c != nil {
		for s := range c.subs {
			s.addLocked(Event{Node: node, Text: text})
		}
	}
}

// lose records that the connection to a node is broken or refused. Shared channels get another node.
func (n *Notifier) lose(node int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name := range n.subscribers[node].want {
		c := n.channels[name]
		if c == nil {
			continue
		}
		lost := c.nodes[node] == confirmed
		c.nodes[node] = away
		for s := range c.subs {
			if waiting, receiving := c.count(); waiting+receiving < nodesPerChannel {
				n.extendLocked(c, s.order)
			}
			if lost && c.private {
				s.addLocked(Event{Node: node, Missed: true})
			}
			if c.isConfirmed() {
				s.readyLocked()
			}
		}
	}
}
