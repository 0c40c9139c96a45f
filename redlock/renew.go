package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/due"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// renewer extends leases in the background, with one goroutine and one timer for all leases of a Locker. Leases that
// are due together share one call. To make that likely, the renewer moves due times to a grid: earlier by at most 1/16
// of the interval.
type renewer struct {
	locker *Locker
	began  time.Time
	more   chan struct{} // signals that something earlier may be due

	mu      sync.Mutex // guards the fields below; taken after that of a lease
	queue   due.Queue[*renewal]
	running bool
}

// renewal is one lease to extend. The lease takes it out of the queue when it ends.
type renewal struct {
	lease   *Lease
	ext     Extension
	attempt int       // number of the current extension's attempts
	began   time.Time // start of the first of them
	last    bool      // no extension follows, whatever the outcome
}

// add has the lease extended until it ends. The goroutine is one of the Locker's tasks and ends when no lease is left.
// Close ends all leases and waits for it.
func (n *renewer) add(lease *Lease, ext Extension) {
	n.put(&renewal{lease: lease, ext: ext}, n.onGrid(n.locker.clock.Now().Add(ext.Every), ext.Every))
}

// addRepair has the lease extended once more after a pause.
func (n *renewer) addRepair(lease *Lease, pause time.Duration) {
	ext := *lease.extend
	once := Extension{Every: ext.Every, Attempts: 1}
	if ext.Extended != nil {
		once.Extended = func(attempts int, took time.Duration, err error) {
			if errors.Is(err, ErrLost) { // after other errors, a regular extension follows
				ext.Extended(attempts, took, err)
			}
		}
	}
	n.put(&renewal{lease: lease, ext: once, last: true}, n.onGrid(n.locker.clock.Now().Add(pause), repairAfter))
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
	first := n.queue.First()
	earlier := first == nil || at.Before(first.At)
	item := n.queue.Add(r, at)
	if r.last {
		r.lease.queuedRepair = item
	} else {
		r.lease.queued = item
	}
	start := !n.running
	n.running = true
	n.mu.Unlock()
	if earlier {
		select {
		case n.more <- struct{}{}:
		default: // it is signaled already
		}
	}
	if start && !n.locker.start(n.run) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.running = false
	}
}

// remove takes extensions of a lease that has ended out of the queue. They may have been due hours later.
func (n *renewer) remove(queued ...*due.Item[*renewal]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, item := range queued {
		if item != nil {
			n.queue.Remove(item)
		}
	}
}

func (n *renewer) run() {
	for {
		batch, wait, over := n.take()
		if over {
			return
		}
		if len(batch) > 0 {
			n.locker.start(func() { n.renew(batch) }) // one of the Locker's tasks, ends within the node timeout
			continue
		}
		n.sleep(wait)
	}
}

// sleep returns after that time, including time suspended, or when something earlier may be due.
func (n *renewer) sleep(wait time.Duration) {
	due := make(chan struct{})
	timer := n.locker.clock.AfterFunc(n.locker.clock.Now().Add(wait), func() { close(due) })
	defer timer.Stop()
	select {
	case <-due:
	case <-n.more:
	case <-n.locker.open.Done():
	}
}

// take returns leases that are due, as many as one call extends, or how long to wait for the first. over is true if none
// is left.
func (n *renewer) take() (batch []*renewal, wait time.Duration, over bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.locker.clock.Now()
	if n.locker.open.Err() != nil || n.queue.Len() == 0 {
		n.running = false
		return nil, 0, true
	}
	for first := n.queue.First(); first != nil && len(batch) < maxRenewed; first = n.queue.First() {
		if wait = first.At.Sub(now); wait > 0 {
			break
		}
		n.queue.Remove(first)
		batch = append(batch, first.Value)
	}
	return batch, wait, false
}

// renew extends the leases of a batch that are still held, in one call, and has each extended again when it is due.
// The function that is told of a lease runs on its own, since it may block: it delays that lease only.
func (n *renewer) renew(batch []*renewal) {
	held, leases := batch[:0], make([]*Lease, 0, len(batch))
	for _, r := range batch {
		if !r.lease.beginExtension(r.last) {
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
	errs := n.locker.extend(context.Background(), leases)
	now := n.locker.clock.Now()
	pauses := make(map[retried]time.Duration)
	for i, r := range held {
		n.conclude(r, errs[i], now, pauses)
	}
}

// retried is what renewals of a batch have in common that fail alike. They pause equally long, and so share one call again.
type retried struct {
	every   time.Duration
	attempt int
}

// conclude has the renewal tried again, or reports the outcome of an extension and has the next one follow.
func (n *renewer) conclude(r *renewal, err error, now time.Time, pauses map[retried]time.Duration) {
	r.attempt++
	lost := errors.Is(err, ErrLost) || !r.lease.heldAt(now)
	if err != nil && !lost && r.attempt < r.ext.Attempts {
		// The remaining attempts share the time left of the lease.
		left := r.lease.leftAt(now) / time.Duration(r.ext.Attempts-r.attempt+1)
		alike := retried{r.ext.Every, r.attempt}
		if pauses[alike] == 0 {
			pauses[alike] = retry.Backoff{Min: r.ext.Every / 20, Max: r.ext.Every / 2}.After(r.attempt)
		}
		n.put(r, now.Add(min(pauses[alike], left)))
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
		if !lost && !r.last {
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
	if !n.locker.start(report) { // one of the Locker's tasks
		report() // while Close waits for this one
	}
}
