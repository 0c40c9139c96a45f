package redlock

import (
	"context"
	"fmt"
	"time"
)

// queue is where those of one process wait who want the same lock: one of them contends for it on the nodes, the others
// wait for their turn here, which costs the nodes nothing.
type queue struct {
	turn chan struct{} // holds one: whoever takes it may contend
	news chan *message // what the nodes tell whoever contends

	// Guarded by Locker.mu.
	waiting int   // callers that use the queue
	last    error // outcome of the latest attempt
	won     bool  // by one of this process, at the last turn
}

// addLocked gives a message to whoever contends, and returns one that it had to drop for it.
func (q *queue) addLocked(m *message) (dropped *message) {
	for {
		select {
		case q.news <- m:
			return dropped
		default:
		}
		select {
		case dropped = <-q.news:
		default:
		}
	}
}

// maxGiven is how many locks are remembered that this process has given up while others waited.
const maxGiven = 1000

// gift is a lock that was given up while others waited.
type gift struct {
	at    time.Time
	nodes nodeSet // where they are listed
}

// noteWaiting remembers that others wait for a lock that was released.
func (l *Locker) noteWaiting(name string, node int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.given) >= maxGiven {
		clear(l.given) // they are a courtesy
	}
	l.given[name] = gift{time.Now(), l.givenOnLocked(name).with(node)}
}

// givenOn is where others wait for a lock that this process has just given up; empty: nowhere, as far as is known.
func (l *Locker) givenOn(name string) nodeSet {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.givenOnLocked(name)
}

func (l *Locker) givenOnLocked(name string) nodeSet {
	g := l.given[name]
	if time.Since(g.at) >= confirmAfter {
		return 0
	}
	return g.nodes
}

// ticket is a turn to contend.
type ticket struct {
	locker *Locker
	name   string
	queue  *queue
	behind bool // one of this process has just won
}

// enter waits for the caller's turn to contend for the lock.
func (l *Locker) enter(ctx context.Context, name string) (*ticket, error) {
	l.mu.Lock()
	q := l.queues[name]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1), news: make(chan *message, maxMessages), last: ErrHeld}
		q.turn <- struct{}{}
		l.queues[name] = q
	}
	q.waiting++
	l.mu.Unlock()
	t := &ticket{locker: l, name: name, queue: q}

	var err error
	select {
	case <-q.turn:
		l.mu.Lock()
		defer l.mu.Unlock()
		t.behind = q.won
		return t, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-l.open.Done():
		err = ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.goLocked()
	return nil, fmt.Errorf("redlock: acquire %q: %w: behind others of this process, whose last outcome was: %w",
		name, err, q.last)
}

// leave gives the turn to the next one, and says how it went. Where nobody is left, what was told of releases is for others.
//
// The nodes that have taken this one off their lists tell the next one. They are told to by the value of the last attempt,
// which may still be set.
func (t *ticket) leave(won bool, err error, owed []*message, last string) {
	l := t.locker
	l.mu.Lock()
	t.queue.won = won
	if err != nil {
		t.queue.last = err
	}
	for _, m := range owed {
		if won {
			l.serveLocked(m.value.contender)
		} else {
			l.tellNextLocked(m, last, &tellOver)
		}
	}
	t.goLocked()
	l.mu.Unlock()
	t.queue.turn <- struct{}{}
}

func (t *ticket) goLocked() {
	if t.queue.waiting--; t.queue.waiting > 0 {
		return
	}
	delete(t.locker.queues, t.name)
	for {
		select {
		case m := <-t.queue.news:
			t.locker.passOnLocked(m)
		default:
			return
		}
	}
}
