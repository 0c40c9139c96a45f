package redlock

import (
	"context"
	"fmt"
	"time"
)

// queue is the wait queue of one process for one lock. One caller contends on the nodes; the others wait here for their
// turn, which costs the nodes nothing.
type queue struct {
	permit   chan struct{} // holds one permit; the caller that takes it may contend
	messages chan *message // from the nodes, for the caller that contends

	// Guarded by Locker.mu.
	waiting int   // callers that use the queue
	last    error // last failure of a caller of this queue
	won     bool  // the last caller that contended got the lock
}

// addLocked adds a message for the caller that contends. If the queue is full, it drops the oldest message and returns
// it.
func (q *queue) addLocked(m *message) (dropped *message) {
	for {
		select {
		case q.messages <- m:
			return dropped
		default:
		}
		select {
		case dropped = <-q.messages:
		default:
		}
	}
}

// maxHandovers is how many handovers are remembered.
const maxHandovers = 1000

// handover is a lock that this process released while others waited.
type handover struct {
	at    time.Time
	nodes nodeSet // the nodes that list them
}

// noteWaiting records that others wait for a lock that this process has released.
func (l *Locker) noteWaiting(name string, node int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.handovers) >= maxHandovers {
		clear(l.handovers) // losing them costs only fairness
	}
	l.handovers[name] = handover{time.Now(), l.waitersOnLocked(name).with(node)}
}

// waitersOn returns the nodes known to list others that wait for a lock that this process has just released.
func (l *Locker) waitersOn(name string) nodeSet {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waitersOnLocked(name)
}

func (l *Locker) waitersOnLocked(name string) nodeSet {
	g := l.handovers[name]
	if time.Since(g.at) >= confirmAfter {
		return 0
	}
	return g.nodes
}

// ticket is a caller's turn to contend.
type ticket struct {
	locker *Locker
	name   string
	queue  *queue
	behind bool // another caller of this process has just had the lock
}

// enter waits for the caller's turn to contend for the lock.
func (l *Locker) enter(ctx context.Context, name string) (*ticket, error) {
	l.mu.Lock()
	q := l.queues[name]
	if q == nil {
		q = &queue{permit: make(chan struct{}, 1), messages: make(chan *message, maxMessages), last: ErrHeld}
		q.permit <- struct{}{}
		l.queues[name] = q
	}
	q.waiting++
	l.mu.Unlock()
	t := &ticket{locker: l, name: name, queue: q}

	var err error
	select {
	case <-q.permit:
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
	return nil, fmt.Errorf("redlock: acquire %q: %w: queued behind other callers of this process, whose last failure was: %w",
		name, err, q.last)
}

// leave records the outcome and passes the turn to the next caller. If no caller of this process is left, it forwards
// the remaining messages to other processes.
//
// The nodes that have removed this process from their lists then notify the next one. The request carries the value of
// the last attempt, which may still be set.
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
			l.notifyNextLocked(m, last, &notifyOver)
		}
	}
	t.goLocked()
	l.mu.Unlock()
	t.queue.permit <- struct{}{}
}

func (t *ticket) goLocked() {
	if t.queue.waiting--; t.queue.waiting > 0 {
		return
	}
	delete(t.locker.queues, t.name)
	for {
		select {
		case m := <-t.queue.messages:
			t.locker.forwardLocked(m)
		default:
			return
		}
	}
}
