package redlock

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/notify"
)

// inbox receives messages from the nodes. They say that a lock is free for which a caller of this process waits.
//
// A node that refuses a lock to a waiting process appends the process to a list in the same script. A release removes
// the first process from the list and notifies it on that process's channel. It also notifies the second process, in
// case the first is gone. So a release costs the nodes the same whether three processes wait or three hundred, and they
// get the lock in turn. If a process was removed from a list but no longer waits, it has the next one notified.
//
// All of this is only a hint: a process that misses a message asks again when the lease that it knows of has run out.
type inbox struct {
	notifier *notify.Notifier
	channel  string
	id       string // identifies this process in the lists
	deliver  func(*message)
	tried    chan struct{} // closed when the caller that opened the inbox no longer waits for the nodes

	mu  sync.Mutex // guards the field below
	sub *notify.Subscription
}

// message is a message from a node.
type message struct {
	missed   bool // no message arrived, but some may have been missed
	unlisted bool // sent by an earlier attempt: none of its nodes has listed this process
	ours     bool // sent by a caller of this process that released the lock, not by a node
	node     int
	kind     string
	position int // in the list: 1 was removed from it, 2 is the next one; 0 is the first, if another node removes it
	name     string
	text     string // the released value; decides nothing, since anybody may publish one
	value    value
}

// maxMessages is how many messages about one lock are kept. Beyond that, the oldest are forwarded to the next process
// that waits.
const maxMessages = 4

func newInbox(hash string, n *notify.Notifier, deliver func(*message)) *inbox {
	id := rand.Text()[:12] // 60 random bits; the scripts know the length
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

// receivesFrom reports whether messages of the node are received. The inbox must be open.
func (b *inbox) receivesFrom(node int) bool {
	b.mu.Lock()
	sub := b.sub
	b.mu.Unlock()
	return sub.Receives(node)
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

// readMessage parses KIND POSITION LENGTH NAME VALUE, where NAME has that length and VALUE follows it without a space.
// It returns nil if the text is not a message.
func readMessage(e notify.Event) *message {
	if e.Missed {
		return &message{missed: true, node: e.Node}
	}
	kind, text, _ := strings.Cut(e.Text, " ")
	place, text, _ := strings.Cut(text, " ")
	length, text, _ := strings.Cut(text, " ")
	n, err1 := strconv.Atoi(place)
	l, err2 := strconv.Atoi(length)
	if err1 != nil || err2 != nil || l < 0 || l > len(text) {
		return nil
	}
	v, err := parseValue(text[l:])
	if err != nil {
		return nil
	}
	return &message{node: e.Node, kind: kind, position: n, name: text[:l], text: text[l:], value: v}
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
func (l *Locker) deliver(m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.missed {
		for _, q := range l.queues {
			l.forwardLocked(q.addLocked(m))
		}
		return
	}
	if q := l.queues[m.name]; q != nil {
		m = q.addLocked(m)
	}
	l.forwardLocked(m)
}

// deliverOurs notifies the queue of a lock that another caller of this process has released it. The nodes notify only
// listed processes, and none if subscribing is denied.
func (l *Locker) deliverOurs(name, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	if q == nil {
		return
	}
	v, _ := parseValue(text) // our own value always parses
	l.forwardLocked(q.addLocked(&message{ours: true, position: 2, name: name, value: v}))
}

// forwardLocked has the next process notified if this process was notified of a release and none of its callers handles
// it. m may be nil.
func (l *Locker) forwardLocked(m *message) {
	if m == nil || m.missed || m.kind != notifyOver || m.position == 2 || slices.Contains(l.served[:], m.value.contender) {
		return
	}
	if l.passing.Allow(time.Now()) { // beyond this rate, somebody is publishing forged messages
		l.notifyNextLocked(m, m.text, &notifyNext)
	}
}

// notifyNextLocked has the node that sent the message notify the next process. The node does nothing if somebody holds
// the lock. With notifyOver it first frees the lock if value holds it; use that only with a value of our own. Use
// notifyNext, which frees nothing, with a value from a message.
func (l *Locker) notifyNextLocked(m *message, value string, tell *string) {
	l.janitors[m.node].add(leftover{
		field: fieldOf(m.name), value: value, until: l.clock.Now().Add(confirmAfter), tell: tell, sure: true,
	})
}

// forward has the next process notified of a message.
func (l *Locker) forward(m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notifyNextLocked(m, m.text, &notifyNext)
}

// serveLocked records that this process has taken the lock after the release of that holder.
func (l *Locker) serveLocked(released string) {
	copy(l.served[1:], l.served[:])
	l.served[0] = released
}
