package redlock

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/redlockfx/redlockfx/internal/notify"
)

// inbox receives messages from the nodes, on a channel of this process. They say that a lock is free for which a caller
// of this process waits.
type inbox struct {
	notifier *notify.Notifier
	channel  string
	id       string // identifies this process in the lists
	deliver  func(*message)
	tried    chan struct{} // closed when the caller that opened the inbox no longer waits for the nodes

	mu  sync.Mutex // guards the field below
	sub *notify.Subscription
}

// message is a message from a node. It decides nothing, since anybody may publish one.
type message struct {
	missed bool // no message arrived, but some may have been missed
	ours   bool // sent by a caller of this process that released the lock, not by a node
	failed bool // an attempt that may have looked like a hold has failed
	node   int
	place  int // in line: 0 is the first
	name   string
	value  value // released
}

// maxMessages is how many messages about one lock are kept.
const maxMessages = 4

func newInbox(hash, id string, n *notify.Notifier, deliver func(*message)) *inbox {
	return &inbox{notifier: n, channel: hash + ":p:" + id, id: id, deliver: deliver, tried: make(chan struct{})}
}

// open subscribes to this process's channel. The caller must call run, which delivers messages until done is closed.
// run is nil if the inbox was open already.
func (b *inbox) open(done <-chan struct{}) (sub *notify.Subscription, run func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sub == nil {
		b.sub = b.notifier.SubscribeAll(b.channel)
		sub := b.sub
		run = func() { b.run(sub, done) }
	}
	return b.sub, run
}

// isOpen reports whether messages of at least one node are received.
func (b *inbox) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sub == nil {
		return false
	}
	select {
	case <-b.sub.Ready():
		return true
	default:
		return false
	}
}

func (b *inbox) run(sub *notify.Subscription, done <-chan struct{}) {
	for {
		select {
		case <-sub.C():
			for e, ok := sub.Next(); ok; e, ok = sub.Next() {
				if m := readMessage(e); m != nil {
					b.deliver(m)
				}
			}
		case <-done:
			return
		}
	}
}

// readMessage parses KIND PLACE LENGTH NAME VALUE, where NAME has that length and VALUE follows it without a space. It
// returns nil if the text is not a message.
func readMessage(e notify.Event) *message {
	if e.Missed {
		return &message{missed: true, node: e.Node}
	}
	kind, text, _ := strings.Cut(e.Text, " ")
	place, text, _ := strings.Cut(text, " ")
	length, text, _ := strings.Cut(text, " ")
	n, err1 := strconv.Atoi(place)
	l, err2 := strconv.Atoi(length)
	if err1 != nil || err2 != nil || n < 0 || l < 0 || l > len(text) {
		return nil
	}
	v, err := parseValue(text[l:])
	if err != nil {
		return nil
	}
	return &message{failed: kind == "failed", node: e.Node, place: n, name: text[:l], value: v}
}

// listen opens the inbox, and waits for the subscription no longer than a node may take to answer. Only the first call
// waits; later calls wait for the first.
func (l *Locker) listen(ctx context.Context) error {
	sub, run := l.inbox.open(l.open.Done())
	if run != nil {
		l.start(run) // ends when Close begins
		defer close(l.inbox.tried)
		return l.joined(ctx, sub)
	}
	select {
	case <-l.inbox.tried:
	case <-l.open.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// deliver passes a message to the queue of its lock.
func (s *queues) deliver(m *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.missed {
		for _, q := range s.all {
			push(q.messages, m)
		}
	} else if q := s.all[m.name]; q != nil {
		push(q.messages, m)
	}
}

// deliverOurs tells the queue of a lock that another caller of this process has released it. The release has removed
// the process from the line, so no node does.
func (s *queues) deliverOurs(name, text string) {
	v, _ := parseValue(text) // our own value always parses
	s.deliver(&message{ours: true, name: name, value: v})
}
