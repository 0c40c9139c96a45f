package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// A node that works again while the listener is still busy with another one is not called away for good.
func TestOnNode_TellsASlowListenerHowEachNodeIsInTheEnd(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		turns := func(seconds int) { // in which each node is asked
			for range 2 * seconds {
				if lease, err := l.TryAcquire(t.Context(), "x"); err == nil {
					_ = lease.Release(t.Context())
				}
				time.Sleep(time.Second / 2)
			}
		}
		c.Kill(3)
		c.Kill(4)
		turns(4)
		const slow = 10 * time.Second
		told := make(map[string]error)
		stop := l.OnNode(func(node string, err error) {
			time.Sleep(slow)
			told[node] = err
		})
		synctest.Wait() // it is busy with the first of the two
		c.Restart(4)
		turns(4 * int(slow/time.Second))
		stop()
		synctest.Wait() // what it was told is read when it is told no more
		if away, works := told[c.Addrs()[3]], told[c.Addrs()[4]]; len(told) != 2 || away == nil || works != nil {
			t.Errorf("told of the one that is away: %v; of the one that works again: %v", away, works)
		}
	})
}
