package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/due"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// renewer extends leases in the background, with one goroutine and one timer for all leases of a Locker. Leases that
// are due together share one call. To make that likely, the renewer moves due times to a grid: earlier by at most 1/16
// of the interval.
type renewer struct {
	lifecycle *lifecycle
	clock     *clock.Clock
	extend    func(context.Context, []*Lease) []error
	began     time.Time
	more      signal.Signal // that something earlier may be due

	mu    sync.Mutex // guards the field below, and parts of renewals; taken after that of a lease
	queue due.Queue[*renewal]
}

// renewal is a lease that is extended until it ends.
type renewal struct {
	lease   *Lease
	ext     Extension
	attempt int       // number of the current extension's attempts
	began   time.Time // start of the first of them

	// Guarded by renewer.mu.
	item      *due.Item[*renewal] // in the queue; nil while an extension is under way
	soon      time.Time           // when the next extension is due after the one under way, if that is earlier than usual
	repairing bool                // the next extension was brought forward, because nodes have the lock for another contender
	disputes  int                 // such extensions in a row
}

// add has the lease extended until it ends.
func (n *renewer) add(lease *Lease, ext Extension) {
	r := &renewal{lease: lease, ext: ext}
	lease.mu.Lock()
	lease.renewal = r
	lease.mu.Unlock()
	n.put(r, n.onGrid(n.clock.Now().Add(ext.Every), ext.Every))
}

// onGrid returns the grid step at or before an instant.
func (n *renewer) onGrid(at time.Time, every time.Duration) time.Time {
	step := max(every/16, time.Millisecond)
	return n.began.Add(at.Sub(n.began).Truncate(step))
}

// put queues the renewal, unless its lease has ended.
func (n *renewer) put(r *renewal, at time.Time) {
	r.lease.mu.Lock()
	defer r.lease.mu.Unlock()
	if r.lease.end != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !r.soon.IsZero() && r.soon.Before(at) {
		at = r.soon
	}
	r.soon = time.Time{}
	n.queueLocked(r, at)
}

// repairSoon brings the next extension forward. The caller holds the lease's mutex.
func (n *renewer) repairSoon(r *renewal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.repairing {
		return
	}
	r.repairing = true
	pause := retry.Backoff{Min: repairAfter, Max: max(32*repairAfter, r.ext.Every)}.After(r.disputes)
	r.disputes++
	at := n.onGrid(n.clock.Now().Add(pause), repairAfter)
	switch {
	case r.item == nil:
		r.soon = at
	case at.Before(r.item.At):
		n.queue.Remove(r.item)
		n.queueLocked(r, at)
	}
}

func (n *renewer) queueLocked(r *renewal, at time.Time) {
	if first := n.queue.First(); first == nil || at.Before(first.At) {
		n.more.Set()
	}
	r.item = n.queue.Add(r, at)
}

// remove takes the renewal of a lease that has ended out of the queue. It may have been due hours later.
func (n *renewer) remove(r *renewal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.item != nil {
		n.queue.Remove(r.item)
		r.item = nil
	}
}

// run is one of the Locker's tasks, from the first attempt until Close starts.
func (n *renewer) run() {
	open := n.lifecycle.open
	for open.Err() == nil {
		batch, next := n.take()
		if len(batch) > 0 {
			n.lifecycle.start(func() { n.renew(batch) }) // ends within the node timeout
			continue
		}
		var timer *clock.Timer
		if next != nil {
			timer = n.clock.AfterFunc(next.At, n.more.Set) // counts time suspended
		}
		select {
		case <-n.more:
		case <-open.Done():
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// take returns leases that are due, as many as one call extends, and the next one.
func (n *renewer) take() (batch []*renewal, next *due.Item[*renewal]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock.Now()
	for next = n.queue.First(); next != nil && !next.At.After(now) && len(batch) < maxRenewed; next = n.queue.First() {
		r := next.Value
		n.queue.Remove(next)
		r.item = nil
		if !r.repairing {
			r.disputes = 0
		}
		r.repairing = false // the extension repairs nodes as well
		batch = append(batch, r)
	}
	return batch, next
}

// renew extends the leases of a batch that are still held, in one call, and has each extended again when it is due.
// The function that is told of a lease runs on its own, since it may block: it delays that lease only.
func (n *renewer) renew(batch []*renewal) {
	held, leases := batch[:0], make([]*Lease, 0, len(batch))
	for _, r := range batch {
		if r.lease.expire() != nil {
			continue
		}
		held, leases = append(held, r), append(leases, r.lease)
		if r.attempt == 0 {
			r.began = time.Now()
		}
	}
	if len(held) == 0 {
		return
	}
	errs := n.extend(context.Background(), leases)
	now, share := n.clock.Now(), rand.Float64()
	for i, r := range held {
		n.conclude(r, errs[i], now, share)
	}
}

// conclude has the renewal tried again, or reports the outcome of an extension and has the next one follow. Renewals of a
// batch have the same random share of the pause, so that those that fail alike share one call again.
func (n *renewer) conclude(r *renewal, err error, now time.Time, share float64) {
	r.attempt++
	lost := errors.Is(err, ErrLost) || !r.lease.heldAt(now)
	if err != nil && !lost && r.attempt < r.ext.Attempts {
		// The remaining attempts share the time left of the lease.
		left := r.lease.leftAt(now) / time.Duration(r.ext.Attempts-r.attempt+1)
		pause := retry.Backoff{Min: r.ext.Every / 20, Max: r.ext.Every / 2}.Share(r.attempt, share)
		n.put(r, now.Add(min(pause, left)))
		return
	}
	next := r.ext.Every
	if err != nil {
		// Go on while the lease lasts: the next regular extension may succeed.
		next = max(next-time.Since(r.began), next/20)
	}
	attempts, took := r.attempt, time.Since(r.began)
	r.attempt = 0
	goOn := func() {
		r.lease.lose(err)
		if !lost {
			n.put(r, n.onGrid(now.Add(next), r.ext.Every))
		}
	}
	if r.ext.Extended == nil {
		goOn()
		return
	}
	report := func() {
		r.ext.Extended(attempts, took, err) // before the lease ends
		goOn()
	}
	if !n.lifecycle.startTelling(report) {
		report() // Close waits for this task, and a second Close does not wait
	}
}
