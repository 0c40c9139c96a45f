package redlock

import (
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

	mu  sync.Mutex           // guards the field below
	sub *notify.Subscription // nil: nobody has waited yet
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
	return &inbox{notifier: n, channel: hash + ":p:" + id, id: id, deliver: deliver}
}

// open subscribes to this process's channel.
func (b *inbox) open() *notify.Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sub == nil {
		b.sub = b.notifier.Subscribe(b.channel, func(e notify.Event) {
			if m := readMessage(e); m != nil {
				b.deliver(m)
			}
		})
	}
	return b.sub
}

// isOpen reports whether messages are received.
func (b *inbox) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sub != nil && b.sub.IsReady()
}

// readMessage parses KIND PLACE LENGTH NAME VALUE, where NAME has that length and VALUE follows it without a space. It
// returns nil if the text is not a message.
func readMessage(e notify.Event) *message {
	if e.Kind != notify.Message {
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

// deliverOurs tells the queue of a lock, if there is one, that another caller of this process has released it. The release
// has removed the process from the line, so no node does.
func (s *queues) deliverOurs(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.all[name]; q != nil {
		v, _ := parseValue(text) // our own value always parses
		push(q.messages, &message{ours: true, name: name, value: v})
	}
}
