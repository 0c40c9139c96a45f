package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

var renewalCases = []Case{
	{Name: "An extended lease lasts beyond its TTL while many goroutines use it", Run: heldOn},
	{Name: "A thousand leases are extended a hundred at a time", Sizes: []int{1}, Own: true, Run: batches},
	{Name: "The shortest lease sends few requests, whatever its nodes answer", Run: shortestLease},
}

// C15: redsync has a data race between Until and Extend. rueidislock TestLocker_WithContext_AutoExtend
// and _AutoExtendConcurrent; RedLock.net TestRenewing.
func heldOn(t *testing.T, w *World) {
	const ttl = 4 * time.Second
	p, rival := w.Process(t), w.Process(t)
	lease := w.takeAll(t, p, "x", extending(ttl)...)
	looking, enough := context.WithCancel(t.Context())
	defer enough()
	var lookers sync.WaitGroup
	look := func(every time.Duration, fn func() bool) {
		lookers.Go(func() {
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			for looking.Err() == nil {
				if !fn() && looking.Err() == nil {
					t.Error("it is over, or not seen")
					return
				}
				<-ticker.C
			}
		})
	}
	for range 2 {
		look(20*time.Millisecond, lease.Valid)
		look(20*time.Millisecond, func() bool { return lease.Context().Err() == nil })
		look(20*time.Millisecond, func() bool { return lease.Token() > 0 && lease.Name() == "x" })
		look(20*time.Millisecond, func() bool { return time.Until(lease.Deadline()) > -w.Busy })
		look(200*time.Millisecond, func() bool { return lease.Extend(looking) == nil })
		look(200*time.Millisecond, func() bool {
			holder, err := p.Holder(looking, "x")
			return err == nil && holder.Token == lease.Token()
		})
		look(time.Second, func() bool { return len(p.Locker.Nodes(looking)) == w.Size() })
		look(500*time.Millisecond, func() bool {
			_, err := rival.TryAcquire(looking, "x")
			return errors.Is(err, redlock.ErrHeld)
		})
	}
	w.Lasts(t, "lease", 3*ttl, lease.Valid)
	enough()
	lookers.Wait()
	release(t, lease)
	w.left(t, 0, "x")
}

// C19: redsync would send 1,000 requests to each node.
func batches(t *testing.T, w *World) {
	const leases, period = 1000, 4 * time.Second
	p := w.Process(t)
	all := make([]*redlock.Lease, leases)
	began := time.Now()
	var takers sync.WaitGroup
	for i := range 10 {
		takers.Go(func() {
			for j := i; j < leases; j += 10 {
				lease, err := p.Acquire(t.Context(), fmt.Sprint(j),
					redlock.WithAutoExtend(redlock.Extension{Every: period}))
				if err != nil {
					t.Error(err)
					return
				}
				all[j] = lease
			}
		})
	}
	takers.Wait()
	if t.Failed() {
		return
	}
	// Leases that are due within one sixteenth of the period share a call.
	together := int(time.Since(began)/(period/16)) + 1
	extended := func(n int) func() bool {
		last := make([]time.Time, leases)
		for i, lease := range all {
			last[i] = lease.Deadline()
		}
		return func() bool {
			moved := 0
			for i, lease := range all {
				if lease.Deadline().After(last[i]) {
					moved++
				}
			}
			return moved >= n
		}
	}
	w.Await(t, "first extension of all", 2*period, extended(leases))
	before, began := w.Requests(0), time.Now()
	again := extended(leases)
	w.Lasts(t, "leases", period, func() bool { return all[0].Valid() })
	w.Await(t, "next extension of all", period, again)
	periods := int(time.Since(began)/period) + 1
	if asked, want := w.Requests(0)-before, periods*(leases/100+together+1); asked > want {
		t.Errorf("%d requests to a node in %v, want at most %d", asked, time.Since(began), want)
	}
}

// C20: redlock-universal sends 4,800 commands a second.
func shortestLease(t *testing.T, w *World) {
	p := w.Process(t, redlock.WithTTL(redlock.MinTTL), redlock.WithMaxTTL(TTL),
		redlock.WithNodeTimeout(20*time.Millisecond))
	p.warm(t)
	lease := p.take(t, "x", redlock.WithAutoExtend(redlock.Extension{}))
	perSecond := func(what string, limit int) {
		t.Helper()
		const seconds = 1
		before := w.Requests(0)
		time.Sleep(seconds * time.Second)
		if asked := (w.Requests(0) - before) / seconds; asked == 0 || asked > limit {
			t.Errorf("%s: %d requests a second to a node, want 1 to %d", what, asked, limit)
		}
	}
	perSecond("extending", 1000/33+4)
	if !lease.Valid() {
		t.Error("the lease is over")
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waiter sync.WaitGroup
	waiter.Go(func() { _, _ = p.Acquire(ctx, "y") }) // without success
	for _, text := range []string{"LOADING Redis is loading the dataset in memory", "ERR no"} {
		p.faults().Answer(text)
		perSecond("waiting for nodes that say "+text, 4000)
		p.Heal()
	}
	p.Hang()
	perSecond("waiting for nodes that hang", 400)
	p.Heal()
	cancel()
	waiter.Wait()
}

// C18. A call that is not sent needs no goroutine and no connection, and none is left when the bubble ends.
func manyPastHung(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	p.Hang(0)
	before, began := w.Requests(0), time.Now()
	for range 4 * w.Rounds {
		lease, err := p.TryAcquire(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		release(t, lease)
		time.Sleep(10 * time.Millisecond)
	}
	if sent, limit := w.Requests(0)-before, 4+4*int(time.Since(began)/NodeTimeout+1); sent > limit {
		t.Errorf("%d requests to a hung node, want at most %d", sent, limit)
	}
	p.Heal()
	w.left(t, 0, "x")
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
