package redlock

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// maxNames is how many leases one script call extends.
const maxNames = 100

// renewer extends leases in the background: one goroutine and one timer for all of a Locker. Leases
// that are due together travel together, so it moves what is due to the steps of a grid: to 1/16 of
// the interval before its time at most.
type renewer struct {
	locker *Locker
	began  time.Time
	more   chan struct{} // holds one signal that something earlier may be due

	mu      sync.Mutex // guards the fields below
	due     renewals
	running bool
}

// renewal is one lease that is to be extended.
type renewal struct {
	lease   *Lease
	ext     Extension
	at      time.Time // when next, by the Locker's clock
	attempt int       // at the extension under way
	began   time.Time // the first of these
	made    int       // extensions
}

// renewals is a heap, the earliest first.
type renewals []*renewal

func (r renewals) Len() int           { return len(r) }
func (r renewals) Less(i, j int) bool { return r[i].at.Before(r[j].at) }
func (r renewals) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *renewals) Push(x any)        { *r = append(*r, x.(*renewal)) }
func (r *renewals) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return x
}

// add has the lease extended until it ends. The goroutine is counted in the Locker's work, ends when
// no lease is left, and is waited for by Close, which ends all leases.
func (n *renewer) add(lease *Lease, ext Extension) {
	n.put(&renewal{lease: lease, ext: ext, at: n.next(ext.Every)})
}

// next is when an extension is due that is to follow after an interval.
func (n *renewer) next(every time.Duration) time.Time {
	step := max(every/16, time.Millisecond)
	at := n.locker.clock.Now().Add(every)
	return at.Add(-(at.Sub(n.began) % step))
}

func (n *renewer) put(r *renewal) {
	n.mu.Lock()
	heap.Push(&n.due, r)
	first := n.due[0] == r
	start := !n.running
	n.running = true
	n.mu.Unlock()
	if first {
		select {
		case n.more <- struct{}{}:
		default: // it is signalled already
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
		batch, wait, over := n.take()
		if over {
			return
		}
		if len(batch) > 0 {
			// Counted in the Locker's work, over by the node timeout.
			n.locker.start(func() { n.renew(batch) })
			continue
		}
		n.sleep(wait)
	}
}

// sleep returns after that time, that of the machine's suspension counted, or when something earlier
// may be due.
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

// take returns leases that are due, or how long to wait for the first; and whether none is left.
func (n *renewer) take() (batch []*renewal, wait time.Duration, over bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.locker.clock.Now()
	for len(n.due) > 0 && len(batch) < maxNames {
		r := n.due[0]
		wait = r.at.Sub(now)
		if !r.lease.Valid() {
			wait = 0
		}
		if wait > 0 {
			break
		}
		heap.Pop(&n.due)
		if r.lease.Valid() {
			batch = append(batch, r)
		}
	}
	if n.locker.open.Err() != nil || len(n.due) == 0 && len(batch) == 0 {
		n.running = false
		return nil, 0, true
	}
	return batch, wait, false
}

// renew asks once for all these leases, and has each come again.
func (n *renewer) renew(batch []*renewal) {
	leases := make([]*Lease, len(batch))
	for i, r := range batch {
		leases[i] = r.lease
		if r.attempt == 0 {
			r.began = time.Now()
		}
	}
	errs := n.locker.extend(context.Background(), leases)
	for i, r := range batch {
		again := n.plan(r, errs[i])
		r.lease.lose(errs[i]) // once it is told why: who sees the end may look no further
		if again {
			n.put(r)
		}
	}
}

// plan says when the lease is due again; false: never.
func (n *renewer) plan(r *renewal, err error) bool {
	r.attempt++
	lost := errors.Is(err, ErrLost) || !r.lease.Valid()
	if err != nil && !lost && r.attempt < r.ext.Attempts {
		// The attempts left share what is left of the lease.
		left := time.Until(r.lease.Deadline()) / time.Duration(r.ext.Attempts-r.attempt+1)
		pause := retry.Backoff{Min: r.ext.Every / 20, Max: r.ext.Every / 2}
		r.at = n.locker.clock.Now().Add(min(pause.After(r.attempt), left))
		return true
	}
	if r.ext.Told != nil {
		r.ext.Told(r.attempt, time.Since(r.began), err)
	}
	r.attempt = 0
	if err == nil {
		r.made++
		r.at = n.next(r.ext.Every)
	} else {
		// No end while the lease lasts: the next extension, when it was due anyway, may succeed.
		r.at = n.next(max(r.ext.Every-time.Since(r.began), r.ext.Every/20))
	}
	return !lost && (r.ext.Max == 0 || r.made < r.ext.Max)
}
