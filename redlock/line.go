package redlock

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/notify"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// The processes that wait for a lock stand in line on two nodes: an entry says who waits, and until when it promises to
// be there. A free lock is for the first in line; the one at place k may take it k x apart after the release. A release
// tells the first two, each on its own channel. So it costs the nodes the same whether three processes wait or three
// hundred, and they get the lock in turn.
//
// The line is only a hint. A process that misses a message asks again when the hold that it knows of must have ended,
// and entries whose promise has passed are dropped: those of the dead, the closed and the impatient alike.
const (
	// lineNodes is how many nodes keep the line of a lock. With one, its failure would cost all waiting processes their
	// place and the message.
	lineNodes = 2
	// apart is the time that each place in line has to itself before the next one may take the lock, too.
	apart = 10 * time.Millisecond
	// mostInLine is how many processes a line has; the scripts have this number, too.
	mostInLine = 1000
)

// tell is what a release does to the line of its lock.
type tell struct {
	text  string // in the format of release.lua
	frees bool   // it removes the record, too
}

// tells are those of one process.
type tells struct {
	released           tell // the process goes, the first two are notified
	failed, failedOnce tell // the first two are notified that an attempt which may have looked like a hold has failed
	again              tell // the process, whose attempt has failed, is put first
	nothing            tell
	leave, giveWay     tell // the process goes, the first two are notified if the lock is free
	more               tell // the first two, who did not come, go, and the next two are notified
}

// newTells makes them for a process. After a failed attempt it promises to be there for that long.
func newTells(process string, promise time.Duration) *tells {
	back := fmt.Sprintf("%s%d", process, promise.Milliseconds())
	return &tells{
		released: tell{process + "release", true}, failed: tell{back + "failed", true}, failedOnce: tell{process + "failed", true},
		again: tell{back + "again", true}, nothing: tell{process + "nothing", true},
		leave: tell{process + "leave", false}, giveWay: tell{process + "leave", false}, more: tell{process + "more", false},
	}
}

// after returns what the removal of a failed attempt does on a node. A node that granted the lock has removed the
// process from its line. looksHeld says that others may have taken the attempt for a hold.
func (t *tells) after(g *grant, node int, looksHeld bool) *tell {
	back := g.goesOn && g.listing.has(node)
	switch {
	case looksHeld && back:
		return &t.failed
	case looksHeld:
		return &t.failedOnce
	case back:
		return &t.again
	}
	return &t.nothing
}

// order returns the order in which contenders for a lock ask the nodes. It is the same for all of them, so one
// contender wins and the others learn that from the first node. It depends only on the name and the addresses
// (rendezvous hashing), not on the order of the list.
func order(nodes *quorum.Quorum, name string) []int {
	order, weights := make([]int, nodes.Size()), make([]uint64, nodes.Size())
	h, text := fnv.New64a(), make([]byte, 0, 256)
	for i := range order {
		text = append(append(append(text[:0], nodes.Addr(i)...), 0), name...)
		h.Reset()
		_, _ = h.Write(text) // never fails
		order[i], weights[i] = i, h.Sum64()
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[a], weights[b]) })
	return order
}

// lineOf returns the nodes that keep the line of a lock, given the order in which all processes ask: the first ones that
// are not slow.
func lineOf(nodes *quorum.Quorum, order []int) []int { return firstInTime(order, nodes.Slow) }

func firstInTime(order []int, slow func(node int) bool) []int {
	line, late := make([]int, 0, len(order)), make([]int, 0, len(order))
	for _, i := range order { // each is judged once: it may become slow meanwhile
		if slow(i) {
			late = append(late, i)
		} else {
			line = append(line, i)
		}
	}
	line = append(line, late...)
	return line[:min(lineNodes, len(line))]
}

// leaveLine removes this process from the line of a lock. If the lock is free, the next ones are notified. It does so
// because nobody of the process waits any more (leave), or gives way to others (giveWay).
func (l *Locker) leaveLine(name, value string, does *tell) {
	for _, i := range lineOf(l.quorum, order(l.quorum, name)) {
		l.janitors[i].add(leftover{field: fieldOf(name), value: value, until: l.clock.Now().Add(confirmAfter), tell: does})
	}
}

// queues are the wait queues of one process. They receive messages from the nodes, on a channel of the process: a lock is
// free for which a caller of this process waits.
type queues struct {
	id       string // identifies this process in the lines
	channel  string
	notifier *notify.Notifier
	once     sync.Once    // subscribes when somebody waits
	missed   atomic.Int64 // how often so far messages may have been missed

	mu        sync.Mutex // guards the fields below, and those of the queues
	all       map[string]*queue
	handovers map[string]*handover // locks released while others waited, by name
}

func newQueues(hash, id string, n *notify.Notifier) *queues {
	return &queues{
		id: id, channel: hash + ":p:" + id, notifier: n, all: make(map[string]*queue), handovers: make(map[string]*handover),
	}
}

// queue is the wait queue of one process for one lock. One caller contends on the nodes; the others wait here for their
// turn, which costs the nodes nothing.
type queue struct {
	permit   chan struct{} // holds one permit; the caller that takes it may contend
	messages chan *message // from the nodes, for the caller that contends

	// Guarded by queues.mu.
	waiting int   // callers that use the queue
	last    error // last failure of a caller of this queue
	won     bool  // the last caller that contended got the lock
}

// wait reports whether callers of this process wait for the lock called name.
func (s *queues) wait(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[name] != nil
}

// push adds v to a buffered channel. If that is full, the oldest goes.
func push[T any](c chan T, v T) {
	for {
		select {
		case c <- v:
			return
		default:
		}
		select {
		case <-c:
		default:
		}
	}
}

// maxHandovers is how many handovers are remembered.
const maxHandovers = 1000

// handover is a release of a lock while others waited for it.
type handover struct {
	at    time.Time   // guarded by queues.mu
	taken atomic.Bool // somebody has had the lock since
}

// handOver records that others wait for a lock that this process has just released. Without that, its next
// acquisition would ask all nodes at once, and split the votes with the one whose turn it is.
func (s *queues) handOver(name string, h *handover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if earlier := s.handovers[name]; earlier != nil && earlier != h {
		earlier.taken.Store(true) // by this process
	}
	if len(s.handovers) >= maxHandovers {
		clear(s.handovers) // losing them costs only fairness
	}
	h.at = time.Now()
	s.handovers[name] = h
}

// othersWait reports whether others are known to wait for a lock that this process has just released.
func (s *queues) othersWait(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.handovers[name]
	return h != nil && time.Since(h.at) < confirmAfter
}

// taken records that somebody else has the lock, so no more of those in line need be told of its release.
func (s *queues) taken(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.handovers[name]; h != nil {
		h.taken.Store(true)
	}
}

// ticket is a caller's turn to contend.
type ticket struct {
	queues *queues
	name   string
	queue  *queue
	behind bool // another caller of this process has just had the lock
}

// enter waits for the caller's turn to contend for the lock, until ctx or open is done.
func (s *queues) enter(ctx, open context.Context, name string) (*ticket, error) {
	s.mu.Lock()
	q := s.all[name]
	if q == nil {
		q = &queue{permit: make(chan struct{}, 1), messages: make(chan *message, maxMessages), last: ErrHeld}
		q.permit <- struct{}{}
		s.all[name] = q
	}
	q.waiting++
	s.mu.Unlock()
	t := &ticket{queues: s, name: name, queue: q}

	var err error
	select {
	case <-q.permit:
		s.mu.Lock()
		defer s.mu.Unlock()
		t.behind = q.won
		return t, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-open.Done():
		err = ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.goLocked()
	return nil, fmt.Errorf("redlock: acquire %q: %w: queued behind other callers of this process, whose last failure was: %w",
		name, err, q.last)
}

// leave records the outcome and passes the turn to the next caller. It returns false if no caller of this process is left.
func (t *ticket) leave(won bool, err error) (more bool) {
	t.queues.mu.Lock()
	t.queue.won = won
	if err != nil {
		t.queue.last = err
	}
	t.goLocked()
	more = t.queue.waiting > 0
	t.queues.mu.Unlock()
	t.queue.permit <- struct{}{}
	return more
}

func (t *ticket) goLocked() {
	if t.queue.waiting--; t.queue.waiting == 0 {
		delete(t.queues.all, t.name)
	}
}

// message is a message from a node. It decides nothing, since anybody may publish one.
type message struct {
	missed int64 // queues.missed: no message arrived, but some may have been missed; 0: it arrived
	ours   bool  // sent by a caller of this process that released the lock, not by a node
	failed bool  // an attempt that may have looked like a hold has failed
	node   int
	place  int // in line: 0 is the first
	name   string
	value  value // released
}

// maxMessages is how many messages about one lock are kept.
const maxMessages = 4

// open subscribes to this process's channel. When nodes have confirmed it, callers that wait ask again, which finds a release
// that happened before.
func (s *queues) open() {
	s.once.Do(func() {
		s.notifier.Subscribe(s.channel, func(e notify.Event) {
			if e.Back {
				s.deliver(&message{missed: s.missed.Add(1)})
			} else if m := readMessage(e); m != nil {
				s.deliver(m)
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
	if s.wait(name) {
		v, _ := parseValue(text) // our own value always parses
		s.deliver(&message{ours: true, name: name, value: v})
	}
}
