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

// inbox is where the nodes tell this process that a lock is free for which one of its callers waits.
//
// Whoever is refused a lock and waits for it is noted by the node in the same instant, at the end of a list. A release takes
// the first one off and tells its process, on a channel of that process, and the second one as well, for the case that the
// first one is gone. So a release costs the nodes the same whether three wait or three hundred, and those who wait are
// served in turn. Whoever was taken off and waits no more has the next one told.
//
// All of this is a hint: who is not told asks again when the lease that it knows of has run out.
type inbox struct {
	notifier *notify.Notifier
	channel  string
	id       string // of this process in the lists
	deliver  func(*message)
	tried    chan struct{} // closed when whoever has opened it waits no longer for the nodes

	mu   sync.Mutex // guards the field below
	news *notify.Subscription
}

// message is what a node has told.
type message struct {
	missed bool // nothing was told, but some may have been that was not heard
	ours   bool // from a caller of this process that has released the lock, and not from a node
	node   int
	kind   string
	place  int // in the list: 1 was taken off it, 2 is the next one; 0 is the first where another node takes it off
	name   string
	text   string // the value that is gone: anybody may publish another one, so it decides nothing
	value  value
}

// maxMessages is how many messages about one lock are kept; of more, the oldest go to the next one who waits.
const maxMessages = 4

func newInbox(hash string, n *notify.Notifier, deliver func(*message)) *inbox {
	id := rand.Text()[:12] // 60 random bits; the scripts know the length
	return &inbox{notifier: n, channel: hash + ":p:" + id, id: id, deliver: deliver, tried: make(chan struct{})}
}

// open begins to hear what the nodes tell. The function that it returns hands it on until done, for the caller to run; nil:
// somebody has begun before.
func (b *inbox) open(done <-chan struct{}) (news *notify.Subscription, run func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.news == nil {
		b.news = b.notifier.SubscribeAll(b.channel)
		news := b.news
		run = func() { b.run(news, done) }
	}
	return b.news, run
}

// isOpen reports that some node is heard.
func (b *inbox) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.news == nil {
		return false
	}
	select {
	case <-b.news.Ready():
		return true
	default:
		return false
	}
}

// hears reports whether what a node tells is heard. The inbox has been opened.
func (b *inbox) hears(node int) bool {
	b.mu.Lock()
	news := b.news
	b.mu.Unlock()
	return news.Hears(node)
}

func (b *inbox) run(news *notify.Subscription, done <-chan struct{}) {
	for {
		select {
		case <-news.C():
			for e, ok := news.Next(); ok; e, ok = news.Next() {
				if m := readMessage(e); m != nil {
					b.deliver(m)
				}
			}
		case <-done:
			return
		}
	}
}

// readMessage reads KIND PLACE LENGTH NAME VALUE, where NAME is of that length and VALUE follows it at once; nil: it is none.
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
	return &message{node: e.Node, kind: kind, place: n, name: text[:l], text: text[l:], value: v}
}

// listen opens the inbox, and waits until it is open, for as long as a node may take to answer. Nobody waits for that a
// second time.
func (l *Locker) listen(ctx context.Context) error {
	news, run := l.inbox.open(l.open.Done())
	if run != nil {
		l.start(run) // ends when Close begins
		defer close(l.inbox.tried)
		return l.joined(ctx, news)
	}
	select {
	case <-l.inbox.tried:
	case <-l.open.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// deliver gives a message to whoever waits for the lock here.
func (l *Locker) deliver(m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.missed {
		for _, q := range l.queues {
			l.passOnLocked(q.addLocked(m))
		}
		return
	}
	if q := l.queues[m.name]; q != nil {
		m = q.addLocked(m)
	}
	l.passOnLocked(m)
}

// deliverOurs tells whoever waits for the lock here that another caller of this process has released it. The nodes tell only
// those whom they have listed, and nobody where subscribing is denied.
func (l *Locker) deliverOurs(name, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	if q == nil {
		return
	}
	v, _ := parseValue(text) // it is our own
	l.passOnLocked(q.addLocked(&message{ours: true, place: 2, name: name, value: v}))
}

// passOnLocked has the next one told who waits for the lock, where this process was told of a release and nobody here looks
// at that. nil: there is none.
func (l *Locker) passOnLocked(m *message) {
	if m == nil || m.missed || m.kind != tellOver || m.place == 2 || slices.Contains(l.served[:], m.value.contender) {
		return
	}
	if l.passing.Allow(time.Now()) { // else somebody publishes what no node has said
		l.tellNextLocked(m, m.text, &tellNext)
	}
}

// tellNextLocked has the node that told of the end of a hold tell the next one. The node does nothing if somebody holds the lock.
// tellOver first frees the lock if this value holds it: it is for a value of our own. A value from a message goes with tellNext,
// which frees nothing.
func (l *Locker) tellNextLocked(m *message, value string, tell *string) {
	l.janitors[m.node].add(leftover{
		field: fieldOf(m.name), value: value, until: l.clock.Now().Add(confirmAfter), tell: tell, sure: true,
	})
}

// passOn has the next one told of what this process was told.
func (l *Locker) passOn(m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tellNextLocked(m, m.text, &tellNext)
}

// serveLocked notes that this process has taken the lock after that release.
func (l *Locker) serveLocked(released string) {
	copy(l.served[1:], l.served[:])
	l.served[0] = released
}
