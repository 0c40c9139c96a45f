package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/notify"
)

// queue is where those of one process wait who want the same lock: one of them contends for it on the nodes, the others
// wait for their turn here, which costs the nodes nothing.
type queue struct {
	turn chan struct{} // holds one: whoever takes it may contend

	// Guarded by Locker.mu.
	waiting int                  // callers that use the queue
	last    error                // outcome of the latest attempt
	winner  string               // contender of the one who won it last
	news    *notify.Subscription // of the one who had the last turn
}

// given is a release of a lock that others wait for.
type given struct {
	waiting int64
	at      time.Time
}

// maxGiven is how many of them are remembered.
const maxGiven = 1000

// noteRelease remembers how many wait for a lock that was released, as the nodes tell.
func (l *Locker) noteRelease(name string, answers []answer) {
	waiting := int64(0)
	for i := range answers {
		if a := &answers[i]; a.Err == nil && !a.Value.held {
			waiting = max(waiting, int64(a.Value.number))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case waiting == 0:
		delete(l.given, name)
	case len(l.given) >= maxGiven:
		clear(l.given) // they are a courtesy
		fallthrough
	default:
		l.given[name] = given{waiting, time.Now()}
	}
}

// ticket is a turn to contend.
type ticket struct {
	locker *Locker
	name   string
	queue  *queue
	winner string               // the contender of this process that has just won, if one has
	news   *notify.Subscription // nil: there is none
}

// enter waits for the caller's turn to contend for the lock.
func (l *Locker) enter(ctx context.Context, name string) (*ticket, error) {
	l.mu.Lock()
	q := l.queues[name]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1), last: ErrHeld}
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
		t.winner, t.news, q.news = q.winner, q.news, nil
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

// leave gives the turn to the next one, and says how it went; and passes on the subscription.
func (t *ticket) leave(winner string, err error, news *notify.Subscription) {
	t.locker.mu.Lock()
	t.queue.winner, t.queue.news = winner, news
	if err != nil {
		t.queue.last = err
	}
	t.goLocked()
	t.locker.mu.Unlock()
	t.queue.turn <- struct{}{}
}

func (t *ticket) goLocked() {
	if t.queue.waiting--; t.queue.waiting == 0 {
		delete(t.locker.queues, t.name)
		if t.queue.news != nil {
			t.queue.news.Close()
		}
	}
}
