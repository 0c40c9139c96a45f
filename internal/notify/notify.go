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

	mu   sync.Mutex                 // guards the field below, and the subscribers' own
	subs map[string][]*Subscription // by channel
}

// Subscription is to one channel.
type Subscription struct {
	notifier *Notifier
	channel  string
	fn       func(Event)
}

// Event is news on a channel.
type Event struct {
	Node int
	Text string // of the message that somebody has published
	// Back says that there is no message. Those of the node are received from now on; earlier ones may have been missed.
	Back bool
}

// New makes a Notifier of nodes.
func New(nodes []redis.UniversalClient, c Config) *Notifier {
	n := &Notifier{config: c, subs: make(map[string][]*Subscription)}
	for i, client := range nodes {
		if single, ok := client.(*redis.Client); ok {
			client = single.WithTimeout(c.Timeout) // a dial cannot be canceled
		}
		n.subscribers = append(n.subscribers, &subscriber{notifier: n, node: i, client: client, changed: signal.New(),
			has: make(map[string]bool), again: make(map[string]bool)})
	}
	return n
}

// Subscribe has fn called with each event on a channel. fn must be quick and must not call the Notifier: a lock is held.
//
// Nodes on which the Notifier has the channel already are not reported as back: their messages are received from now on.
func (n *Notifier) Subscribe(channel string, fn func(Event)) *Subscription {
	s := &Subscription{notifier: n, channel: channel, fn: fn}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subs[channel] = append(n.subs[channel], s)
	n.changeLocked(channel)
	return s
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
	n.changeLocked(s.channel)
}

func (n *Notifier) changeLocked(channel string) {
	for _, s := range n.subscribers {
		s.changeLocked(channel)
	}
}

// tellLocked passes an event to the subscriptions to a channel.
func (n *Notifier) tellLocked(channel string, e Event) {
	for _, s := range n.subs[channel] {
		s.fn(e)
	}
}
