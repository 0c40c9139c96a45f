package redlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
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
