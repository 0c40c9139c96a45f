package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestAutoExtend_TellsOfEachExtension(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		type outcome struct {
			attempts int
			took     time.Duration
			err      error
		}
		reported := make(chan outcome, 100)
		l, process := c.Locker()
		lease, err := l.TryAcquire(t.Context(), "x", redlock.WithAutoExtend(redlock.Extension{
			Every: ttl / 3, Attempts: 3,
			Extended: func(attempts int, took time.Duration, err error) { reported <- outcome{attempts, took, err} },
		}))
		if err != nil {
			t.Fatal(err)
		}
		if o := <-reported; o.attempts != 1 || o.took != 0 || o.err != nil {
			t.Errorf("reported %+v, want one attempt", o)
		}
		process.Cut()
		if o := <-reported; o.attempts != 3 || o.took == 0 || !errors.Is(o.err, redlock.ErrNoQuorum) {
			t.Errorf("reported %+v, want three attempts", o)
		}
		<-lease.Context().Done()
		synctest.Wait()
		for len(reported) > 0 {
			if o := <-reported; o.err == nil {
				t.Errorf("reported %+v", o)
			}
		}
	})
}

func TestAutoExtend_TellsThatALeaseIsLostBeforeItEnds(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		reported := make(chan error, 1)
		var held atomic.Pointer[redlock.Lease] // before the first extension
		l, _ := c.Locker()
		lease, err := l.TryAcquire(t.Context(), "x", redlock.WithAutoExtend(redlock.Extension{
			Every: ttl / 3, Attempts: 3,
			Extended: func(_ int, _ time.Duration, err error) { reported <- errors.Join(err, held.Load().Context().Err()) },
		}))
		if err != nil {
			t.Fatal(err)
		}
		held.Store(lease)
		drop(c, "x", 0, 1, 2)
		<-lease.Context().Done()
		select {
		case err := <-reported:
			if !errors.Is(err, redlock.ErrLost) || errors.Is(err, context.Canceled) {
				t.Errorf("reported %v", err)
			}
		default:
			t.Error("the lease has ended, and nothing was reported")
		}
	})
}

// A node that voted for another contender is repaired soon, not only with the next extension: until then it would look
// free to waiters.
func TestAutoExtend_RepairsANodeThatVotedForAnotherAtOnce(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		warmUp(t, l)
		records.Default.Put(t, "x", records.SomebodyElse, 4*time.Millisecond, c.Raw()[:2]...)
		before := c.Asked()
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		time.Sleep(50 * time.Millisecond)
		if on := on(c, "x"); on != 5 {
			t.Errorf("%d of 5 nodes have the lock", on)
		}
		if asked := c.Asked() - before; asked != 5+5+2 {
			t.Errorf("%d requests, want a grant and an extension on each node, and two repairs", asked)
		}
		before = c.Asked()
		time.Sleep(ttl / 4)
		if asked := c.Asked() - before; asked > 0 {
			t.Errorf("%d requests more before the first extension", asked)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A lease that has ended leaves memory at once, with the context of its Acquire, and not when it would have been extended.
func TestAutoExtend_LeavesNothingOfALeaseThatHasEnded(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		const many = 300
		var ended []weak.Pointer[redlock.Lease]
		for i := range many {
			lease := mustAcquire(t, l, fmt.Sprint(i), redlock.WithLeaseTTL(10*time.Hour), redlock.WithAutoExtend(redlock.Extension{}))
			ended = append(ended, weak.Make(lease))
			if i%2 == 0 {
				lease.Abandon()
			} else if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second) // the timers of the calls are over
		runtime.GC()
		left := 0
		for _, lease := range ended {
			if lease.Value() != nil {
				left++
			}
		}
		if left > many/10 { // the last calls may still be in use
			t.Errorf("%d of %d leases are still in memory", left, many)
		}
	}, redlock.WithMaxTTL(10*time.Hour))
}

// Leases that were extended in one call are also tried again in one.
func TestAutoExtend_RetriesTogether(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		var leases []*redlock.Lease
		for i := range 20 {
			leases = append(leases, mustAcquire(t, l, fmt.Sprint(i), redlock.WithAutoExtend(redlock.Extension{})))
		}
		process.Hang(0, 1)
		before := c.Requests(2)
		time.Sleep(ttl * 2 / 3) // two extensions, of at most three attempts each
		if asked := c.Requests(2) - before; asked < 3 || asked > 12 {
			t.Errorf("%d requests, want one for each attempt, or a few more", asked)
		}
		process.Heal()
		time.Sleep(ttl)
		for _, lease := range leases {
			if !lease.Valid() {
				t.Errorf("lost %q", lease.Name())
			}
		}
	})
}

// A function that blocks delays its own lease only.
func TestAutoExtend_ABlockedReportDelaysNoOtherLease(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		blocked := make(chan struct{})
		slow := mustAcquire(t, l, "slow", redlock.WithAutoExtend(redlock.Extension{
			Extended: func(int, time.Duration, error) { <-blocked },
		}))
		reports := 0
		other := mustAcquire(t, l, "other", redlock.WithAutoExtend(redlock.Extension{
			Extended: func(int, time.Duration, error) { reports++ },
		}))
		quiet := mustAcquire(t, l, "quiet", redlock.WithAutoExtend(redlock.Extension{}))
		time.Sleep(2 * ttl)
		if slow.Valid() || !other.Valid() || !quiet.Valid() || reports < 5 {
			t.Errorf("held: %v, %v, %v, after %d reports; want only the first one to be lost", slow.Valid(), other.Valid(),
				quiet.Valid(), reports)
		}
		close(blocked)
	})
}

// A node may have the lock for somebody else as long as the lease lasts, as one that lies. It is asked more often at
// first, to be repaired, and soon no more than twice as often.
func TestAutoExtend_AsksNoNodeForEverThatHasAnotherHolder(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		warmUp(t, l)
		take(c, "x", 0)
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		take(c, "x", 0) // the attempt has shortened it
		time.Sleep(6 * ttl)
		before := c.Asked()
		time.Sleep(6 * ttl)
		const usual = 6 * 3 * 3 // extensions at a third of the TTL, on three nodes
		if n := c.Asked() - before; n > 5*usual/2 {
			t.Errorf("%d requests in six TTLs, want about %d", n, usual)
		}
		want.NoError(t, lease.Release(t.Context()))
	})
}
