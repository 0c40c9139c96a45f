package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/redlock"
)

// A release must not arrive before the request that sets the lock, which would then stay for a TTL.
func TestLease_ReleaseDoesNotOvertake(t *testing.T) {
	for name, test := range map[string]struct {
		grant      bool // the grant is late; otherwise the first repair
		extensions int
	}{
		"the grant":          {true, 0},
		"the repair":         {false, 1},
		"the earlier repair": {false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				late := &heldUp{sends: redlock.SendsRepair}
				if test.grant {
					late.sends = redlock.SendsAcquire
				}
				late.passed.Store(true)
				l := lockerWith(c, map[int]*heldUp{2: late})
				warmUp(t, l)
				late.passed.Store(false)
				lease := mustAcquire(t, l, "x")
				synctest.Wait() // only the late request is under way
				for i := range test.extensions {
					if i == 0 {
						drop(c, "x", 2)
					}
					if err := lease.Extend(t.Context()); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				time.Sleep(2 * time.Millisecond) // the next call may overtake one that waits longer than that
				if err := lease.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(nodeTimeout/2 + 10*time.Millisecond) // the late request has arrived, and no release was repeated
				if on(c, "x") != 0 || !late.passed.Load() {
					t.Errorf("on %d nodes; was anything late: %v", on(c, "x"), late.passed.Load())
				}
			})
		})
	}
}
