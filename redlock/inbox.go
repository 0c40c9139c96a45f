package redlock

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redlockfx/redlockfx/internal/notify"
)

// inbox receives messages from the nodes, on a channel of this process. They say that a lock is free for which a caller
// of this process waits.
type inbox struct {
	notifier *notify.Notifier
	channel  string
	id       string // identifies this process in the lists
	deliver  func(*message)
	once     sync.Once    // subscribes when somebody waits
	missed   atomic.Int64 // how often so far messages may have been missed
}

// message is a message from a node. It decides nothing, since anybody may publish one.
type message struct {
	missed int64 // inbox.missed: no message arrived, but some may have been missed; 0: it arrived
	ours   bool  // sent by a caller of this process that released the lock, not by a node
	failed bool  // an attempt that may have looked like a hold has failed
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

// open subscribes to this process's channel. When nodes have confirmed it, callers that wait ask again, which finds a release
// that happened before.
func (b *inbox) open() {
	b.once.Do(func() {
		b.notifier.Subscribe(b.channel, func(e notify.Event) {
			if e.Kind != notify.Message {
				b.deliver(&message{missed: b.missed.Add(1)})
			} else if m := readMessage(e); m != nil {
				b.deliver(m)
			}
		})
	})
}

// readMessage parses KIND PLACE LENGTH NAME VALUE, where NAME has that length and VALUE follows it without a space. It
// returns nil if the text is not a message.
func readMessage(e notify.Event) *message {
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
	if m.missed > 0 {
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
