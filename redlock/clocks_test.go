package redlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/redlock"
)

// The machine of the holder sleeps for longer than the lease: what it was told before is worth nothing
// when it wakes, and the context ends within a quarter of a second.
func TestSuspension_ShortensTheLease(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		ticking := clock.New()
		l, _ := c.locker(redlock.WithClock(ticking))
		lease := mustAcquire(t, l, "x")
		ctx := lease.Context()
		before := lease.Deadline()
		time.Sleep(time.Second)

		ticking.Suspend(3 * time.Second)
		if got := before.Sub(lease.Deadline()); got != 3*time.Second {
			t.Errorf("after 3 s of sleep the deadline is %v nearer", got)
		}
		if !lease.Valid() {
			t.Error("over too early")
		}

		ticking.Suspend(ttl)
		if lease.Valid() {
			t.Error("still valid after having slept through it")
		}
		time.Sleep(250 * time.Millisecond)
		wantErr(t, context.Cause(ctx), redlock.ErrExpired)
		wantErr(t, lease.Extend(t.Context()), redlock.ErrExpired)
	})
}

func TestSuspension_DuringAnAcquisitionCountsAgainstIt(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		ticking := clock.New()
		l, process := c.locker(redlock.WithClock(ticking))
		warmUp(t, l)
		process.Delay(50 * time.Millisecond)
		time.AfterFunc(60*time.Millisecond, func() { ticking.Suspend(ttl) })
		_, err := l.TryAcquire(t.Context(), "x")
		wantErr(t, err, redlock.ErrExpired)
	})
}

func TestSuspension_DuringAnExtensionDoesNotProlong(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		ticking := clock.New()
		l, process := c.locker(redlock.WithClock(ticking))
		lease := mustAcquire(t, l, "x")
		process.Delay(50 * time.Millisecond)
		time.AfterFunc(60*time.Millisecond, func() { ticking.Suspend(ttl / 2) })
		sent := time.Now()
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := lease.Deadline().Sub(sent); got != validFor-ttl/2 {
			t.Errorf("valid for %v from the send, want %v", got, validFor-ttl/2)
		}
	})
}

// A virtual machine that was paused has clocks that know nothing of it. The nodes' do.
func TestSuspension_IsLearnedFromTheNodes(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		for i := range 3 {
			c.Offset(i, 4*time.Second) // as it looks from here
		}
		_, _ = l.TryAcquire(t.Context(), "y") // what was asked by the clocks of before the pause is late
		synctest.Wait()
		if got := time.Until(lease.Deadline()); got > validFor-3900*time.Millisecond {
			t.Errorf("%v left, though the nodes are 4 s on", got)
		}
		grantAndRelease(t, l, "y") // no node's clock has jumped
	})
}

// One of three nodes forgets a lease since its clock was stepped forward. The votes that a rival gets
// there do not count.
func TestClockJump_GivesNobodyASecondLease(t *testing.T) {
	for _, known := range []bool{true, false} {
		bubble(t, 3, func(t *testing.T, c *cluster) {
			l, process := c.locker()
			rival, rivalLinks := c.locker()
			if known {
				warmUp(t, rival)
			}
			warmUp(t, l)
			process.Cut(2)
			lease := mustAcquire(t, l, "x") // on nodes 0 and 1
			rivalLinks.Cut(0)
			c.Jump(1, 2*ttl)
			var err error
			for range 5 {
				_, err = rival.TryAcquire(t.Context(), "x") // nodes 1 and 2 would grant
				if err == nil {
					t.Errorf("two holders, the nodes being known to the second: %v", known)
				}
				synctest.Wait()
			}
			wantErr(t, err, redlock.ErrNoQuorum)
			wantText(t, err, "its clock")
			if !lease.Valid() {
				t.Error("lost")
			}
		})
	}
}

func TestClockJump_IsToldAndCountsAgainAfterMaxTTL(t *testing.T) {
	for name, by := range map[string]time.Duration{"forward": 700 * time.Millisecond, "back": -700 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *cluster) {
				var mu sync.Mutex
				var told []time.Duration
				l, process := c.locker(redlock.WithHooks(redlock.Hooks{
					ClockJump: func(node string, by time.Duration) {
						mu.Lock()
						defer mu.Unlock()
						if node != c.Addrs()[1] {
							t.Errorf("jumped: %s", node)
						}
						told = append(told, by)
					},
				}))
				time.Sleep(ttl) // or a step back would begin the guard anew
				warmUp(t, l)
				synctest.Wait()
				c.Offset(1, by)
				process.Hang(2)
				_, _ = l.TryAcquire(t.Context(), "x") // is late by the clock that was stepped forward
				synctest.Wait()
				_, err := l.TryAcquire(t.Context(), "x")
				wantErr(t, err, redlock.ErrNoQuorum)
				wantText(t, err, "its clock jumped by "+by.String())
				if len(told) != 1 || (told[0]-by).Abs() > 5*time.Millisecond {
					t.Errorf("told %v, want %v", told, by)
				}
				if s := l.Nodes(t.Context())[1]; s.Err == nil || (s.ClockOffset-by).Abs() > time.Second {
					t.Errorf("%+v", s)
				}
				time.Sleep(ttl)
				mustAcquire(t, l, "x") // a constant offset within what is allowed
			})
		})
	}
}

// Two that disagree decide nothing: nobody knows which of them is right. The third decides.
func TestClocksThatDisagree_DoNotDecide(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		c.Offset(1, 5*time.Second)
		l, process := c.locker()
		synctest.Wait()
		lease := mustAcquire(t, l, "x")
		if err := lease.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		process.Hang(0)
		_, err := l.TryAcquire(t.Context(), "y")
		wantErr(t, err, redlock.ErrNoQuorum)
		wantText(t, err, "off the others'", "1s is allowed")
		wantErr(t, lease.Extend(t.Context()), redlock.ErrNoQuorum)
	})
}

func TestClocks_OfOneNodeAreNotJudged(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		warmUp(t, l)
		c.Offset(0, time.Minute)
		_, err := l.TryAcquire(t.Context(), "x")
		wantText(t, err, "too late")
		mustAcquire(t, l, "x")
	})
}
