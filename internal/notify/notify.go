// Package notify receives messages that are published on Redis nodes. A message is a hint. Without a connection or the
// right to subscribe it is missed, so a caller that waits for one also needs a timer.
//
// A Notifier subscribes to a channel on all nodes. All channels share one connection to each node.
package notify

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/signal"
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

	mu   sync.Mutex                 // guards the field below, those of subscriptions, and the subscribers' own
	subs map[string][]*Subscription // by channel
}

// Subscription is to one channel.
type Subscription struct {
	notifier *Notifier
	channel  string
	fn       func(Event)
	ready    chan struct{} // see Ready

	// Guarded by notifier.mu.
	isReady bool
	nodes   []state // on each node
}

// state is the state of a subscription on one node.
type state int

const (
	wanted    state = iota // the node has not been asked yet
	asked                  // it has not confirmed yet
	confirmed              // its messages are received
	away                   // the connection is broken, or the node refuses
)

// Event is news on a channel.
type Event struct {
	Kind Kind
	Node int
	Text string // of a message
	// Others is how many other nodes' messages are received when one is lost or back.
	Others int
}

// Kind is the kind of an [Event].
type Kind int

const (
	// Message says that somebody has published a message.
	Message Kind = iota
	// Lost says that the connection to the node is broken: its messages will be missed.
	Lost
	// Back says that messages of the node are received from now on. Earlier ones may have been missed.
	Back
)

// IsNews reports whether the event matters where all nodes publish the same: it is a message, or messages of all nodes may
// have been missed.
func (e Event) IsNews() bool { return e.Kind == Message || e.Kind == Back && e.Others == 0 }

// New makes a Notifier of nodes.
func New(nodes []redis.UniversalClient, c Config) *Notifier {
	n := &Notifier{config: c, subs: make(map[string][]*Subscription)}
	for i, client := range nodes {
		if single, ok := client.(*redis.Client); ok {
			client = single.WithTimeout(c.Timeout) // a dial cannot be canceled
		}
		n.subscribers = append(n.subscribers, &subscriber{notifier: n, node: i, client: client, changed: signal.New()})
	}
	return n
}

// Subscribe has fn called with each event on a channel. fn must be quick and must not call the Notifier: a lock is held.
func (n *Notifier) Subscribe(channel string, fn func(Event)) *Subscription {
	s := &Subscription{
		notifier: n, channel: channel, fn: fn, ready: make(chan struct{}), nodes: make([]state, len(n.subscribers)),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subs[channel] = append(n.subs[channel], s)
	n.changeLocked()
	return s
}

func (n *Notifier) changeLocked() {
	for _, s := range n.subscribers {
		s.changeLocked()
	}
}

// Ready returns a channel that is closed when the nodes have confirmed the subscription, or were found to be away. Whatever
// one that confirmed publishes from then on is received.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// IsReady reports whether Ready's channel is closed.
func (s *Subscription) IsReady() bool {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	return s.isReady
}

// Late says that the caller no longer waits for Ready: it is closed now, and each node that confirms the subscription later
// is reported as [Back].
func (s *Subscription) Late() {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	s.readyLocked()
}

func (s *Subscription) readyLocked() {
	if !s.isReady {
		s.isReady = true
		close(s.ready)
	}
}

// Close ends the Subscription.
func (s *Subscription) Close() {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	left := slices.DeleteFunc(n.subs[s.channel], func(other *Subscription) bool { return other == s })
	if n.subs[s.channel] = left; len(left) == 0 {
		delete(n.subs, s.channel)
	}
	n.changeLocked()
}

// changeLocked changes the state on a node. If the caller no longer waits for Ready, it is an event.
func (s *Subscription) changeLocked(node int, to state) {
	was, open, others := s.nodes[node], false, 0
	s.nodes[node] = to
	for i, state := range s.nodes {
		open = open || state == wanted || state == asked
		if state == confirmed && i != node {
			others++
		}
	}
	switch {
	case s.isReady && to == confirmed:
		s.fn(Event{Kind: Back, Node: node, Others: others})
	case s.isReady && was == confirmed:
		s.fn(Event{Kind: Lost, Node: node, Others: others})
	case !open && (to == confirmed || others > 0):
		s.readyLocked()
	}
}

// confirm records that a node has confirmed the subscriptions to a channel for which it was asked.
func (n *Notifier) confirm(node int, channel string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.subs[channel] {
		if s.nodes[node] != wanted {
			s.changeLocked(node, confirmed)
		}
	}
}

// message passes a node's message to the subscriptions.
func (n *Notifier) message(node int, channel, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.subs[channel] {
		s.fn(Event{Kind: Message, Node: node, Text: text})
	}
}

// lose records that the connection to a node is broken or refused.
func (n *Notifier) lose(node int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, subs := range n.subs {
		for _, s := range subs {
			if s.nodes[node] == asked || s.nodes[node] == confirmed {
				s.changeLocked(node, away)
			}
		}
	}
}

// askAgain has the subscriptions on a node that has refused them asked for again.
func (n *Notifier) askAgain(node int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, subs := range n.subs {
		for _, s := range subs {
			s.nodes[node] = wanted
		}
	}
	n.subscribers[node].changeLocked()
}
