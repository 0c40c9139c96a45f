package redlock

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// renewer extends leases in the background, with one goroutine and one timer for all leases of a Locker. Leases that
// are due together share one call. To make that likely, the renewer moves due times to a grid: earlier by at most 1/16
// of the interval.
type renewer struct {
	locker *Locker
	began  time.Time
	more   chan struct{} // signals that something earlier may be due

	mu      sync.Mutex // guards the fields below
	slots   map[time.Time]*slot
	due     slots
	running bool
}

// slot is the set of leases due at one instant of the Locker's clock.
type slot struct {
	at     time.Time
	leases []*renewal
}

// renewal is one lease to extend.
type renewal struct {
	lease   *Lease
	ext     Extension
	attempt int       // number of the current extension's attempts
	began   time.Time // start of the first of them
	made    int       // number of successful extensions
	last    bool      // no extension follows, whatever the outcome
}

// slots is a heap, the earliest first.
type slots []*slot

func (s slots) Len() int           { return len(s) }
func (s slots) Less(i, j int) bool { return s[i].at.Before(s[j].at) }
func (s slots) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *slots) Push(x any)        { *s = append(*s, x.(*slot)) }
func (s *slots) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return x
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
	// Computed from began: equal steps must be equal map keys, but the wall and monotonic parts of at vary.
	return n.began.Add(at.Sub(n.began).Truncate(step))
}

func (n *renewer) put(r *renewal, at time.Time) {
	n.mu.Lock()
	s := n.slots[at]
	if s == nil {
		s = &slot{at: at}
		n.slots[at] = s
		heap.Push(&n.due, s)
	}
	s.leases = append(s.leases, r)
	first := n.due[0] == s && len(s.leases) == 1
	start := !n.running
	n.running = true
	n.mu.Unlock()
	if first {
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

func (n *renewer) run() {
	for {
		due, wait, over := n.take()
		if over {
			return
		}
		for len(due) > 0 {
			batch := due[:min(len(due), maxRenewed)]
			due = due[len(batch):]
			n.locker.start(func() { n.renew(batch) }) // one of the Locker's tasks, ends within the node timeout
		}
		if wait > 0 {
			n.sleep(wait)
		}
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

// take returns the leases that are due, or how long to wait for the first. over is true if none is left.
func (n *renewer) take() (due []*renewal, wait time.Duration, over bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.locker.clock.Now()
	if n.locker.open.Err() != nil || len(n.due) == 0 {
		n.running = false
		return nil, 0, true
	}
	if wait = n.due[0].at.Sub(now); wait > 0 {
		return nil, wait, false
	}
	s := heap.Pop(&n.due).(*slot)
	delete(n.slots, s.at)
	for _, r := range s.leases {
		if r.lease.heldAt(now) {
			due = append(due, r)
		}
	}
	return due, 0, false
}

// renew extends all these leases in one call, and schedules the next extension of each.
func (n *renewer) renew(batch []*renewal) {
	leases := make([]*Lease, len(batch))
	for i, r := range batch {
		leases[i] = r.lease
		r.lease.beginExtension(r.last)
		if r.attempt == 0 {
			r.began = time.Now()
		}
	}
	errs := n.locker.extend(context.Background(), leases)
	now := n.locker.clock.Now()
	for i, r := range batch {
		at, again := n.plan(r, errs[i], now)
		r.lease.lose(errs[i]) // after the hook was called, so that its report precedes the end of the lease
		if again {
			n.put(r, at)
		}
	}
}

// plan returns when the lease is due again, or false if it is never due again.
func (n *renewer) plan(r *renewal, err error, now time.Time) (at time.Time, again bool) {
	r.attempt++
	lost := errors.Is(err, ErrLost) || !r.lease.heldAt(now)
	if err != nil && !lost && r.attempt < r.ext.Attempts {
		// The remaining attempts share the time left of the lease.
		left := r.lease.leftAt(now) / time.Duration(r.ext.Attempts-r.attempt+1)
		pause := retry.Backoff{Min: r.ext.Every / 20, Max: r.ext.Every / 2}
		return now.Add(min(pause.After(r.attempt), left)), true
	}
	if r.ext.Extended != nil {
		r.ext.Extended(r.attempt, time.Since(r.began), err)
	}
	r.attempt = 0
	next := r.ext.Every
	if err == nil {
		r.made++
	} else {
		// Go on while the lease lasts: the next regular extension may succeed.
		next = max(next-time.Since(r.began), next/20)
	}
	return n.onGrid(now.Add(next), r.ext.Every), !lost && !r.last && (r.ext.Max == 0 || r.made < r.ext.Max)
}
