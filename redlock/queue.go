package redlock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// queues are the wait queues of one process.
type queues struct {
	mu        sync.Mutex // guards the fields below, and those of the queues
	all       map[string]*queue
	handovers map[string]*handover // locks released while others waited, by name
}

func newQueues() *queues {
	return &queues{all: make(map[string]*queue), handovers: make(map[string]*handover)}
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

// wait reports whether callers of this process wait for the lock with that field.
func (s *queues) wait(field string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[strings.TrimPrefix(field, fieldOf(""))] != nil
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
