package redlock

import (
	"context"
	"fmt"
	"sync/atomic"
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

// add adds a message for the caller that contends. If the queue is full, the oldest message goes.
func (q *queue) add(m *message) {
	for {
		select {
		case q.messages <- m:
			return
		default:
		}
		select {
		case <-q.messages:
		default:
		}
	}
}

// maxHandovers is how many handovers are remembered.
const maxHandovers = 1000

// handover is a release of a lock while others waited for it.
type handover struct {
	at    time.Time   // guarded by Locker.mu
	taken atomic.Bool // somebody has had the lock since
}

// handOver records that others wait for a lock that this process has just released. Without that, its next
// acquisition would ask all nodes at once, and split the votes with the one whose turn it is.
func (l *Locker) handOver(name string, h *handover) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if earlier := l.handovers[name]; earlier != nil && earlier != h {
		earlier.taken.Store(true) // by this process
	}
	if len(l.handovers) >= maxHandovers {
		clear(l.handovers) // losing them costs only fairness
	}
	h.at = time.Now()
	l.handovers[name] = h
}

// othersWait reports whether others are known to wait for a lock that this process has just released.
func (l *Locker) othersWait(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.handovers[name]
	return h != nil && time.Since(h.at) < confirmAfter
}

// taken records that somebody else has the lock, so no more of those in line need be told of its release.
func (l *Locker) taken(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.handovers[name]; h != nil {
		h.taken.Store(true)
	}
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

// leave records the outcome and passes the turn to the next caller. If no caller of this process is left and this one
// has asked and did not get the lock, the process leaves the line.
func (t *ticket) leave(won bool, err error, last value) {
	l := t.locker
	l.mu.Lock()
	t.queue.won = won
	if err != nil {
		t.queue.last = err
	}
	t.goLocked()
	left := t.queue.waiting == 0
	l.mu.Unlock()
	t.queue.permit <- struct{}{}
	if left && !won && last.attempt > 0 {
		l.leaveLine(t.name, last.String())
	}
}

func (t *ticket) goLocked() {
	if t.queue.waiting--; t.queue.waiting == 0 {
		delete(t.locker.queues, t.name)
	}
}
