package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// An attempt that reached no node leaves nothing to remove. Only the first one after the cut was perhaps sent, on the
// connections that broke.
func TestTryAcquire_ThatWasNeverSentIsNotCleanedUp(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, links := c.Locker()
		warmUp(t, l)
		links.Cut()
		for range 20 {
			_, err := l.TryAcquire(t.Context(), "x")
			want.Err(t, err, redlock.ErrNoQuorum)
		}
		synctest.Wait()
		before := c.Requests(0)
		links.Heal()
		time.Sleep(2 * nodeTimeout)
		if sent := c.Requests(0) - before; sent > 4 {
			t.Errorf("%d requests after 20 attempts that were not sent, want an inspection, a look and the release of the first",
				sent)
		}
	})
}

// A hook of the client holds up all calls for seconds. No node is reported for that, and the errors say where the time went.
func TestOnNode_ReportsNoNodeForTimeLostInThisProcess(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		slow := heldUp{sends: func(redis.Cmder) bool { return false }}
		l := lockerWith(c, map[int]*heldUp{0: &slow})
		warmUp(t, l)
		synctest.Wait()
		slow.always = 5 * nodeTimeout
		fails := reportsOf(l, redlock.NodeFails, redlock.NodeProblem)
		for range 10 {
			_, err := l.TryAcquire(t.Context(), "x")
			want.Text(t, err, "held up in this process")
			time.Sleep(6 * nodeTimeout)
		}
		if all := fails(); len(all) > 0 {
			t.Errorf("reported %+v", all)
		}
	})
}

// A node that refused connections all along owes nothing to a lease of the others. One that has the lock gets its release.
func TestRelease_OwesNothingToANodeThatWasNeverAsked(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, links := c.Locker()
		links.Cut(0)
		if err := mustAcquire(t, l, "x").Release(t.Context()); err != nil {
			t.Error(err)
		}
		lease := mustAcquire(t, l, "y")
		synctest.Wait()
		links.Cut(1)
		_ = lease.Release(t.Context()) // too few answer
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := l.Close(ctx)
		want.Text(t, err, "locks may be left on "+c.Addrs()[1]+": 1, ")
		if strings.Contains(err.Error(), c.Addrs()[0]) {
			t.Error(err)
		}
	})
}

// A Locker that no node has answered, or none since its locks have expired, has nothing to remove. So Close returns no error, and
// soon: it waits only until the nodes need not know any more that a caller has left the line.
func TestClose_OwesNothingToNodesThatWereNotReached(t *testing.T) {
	for what, fail := range map[string]func(l *redlock.Locker, links *nodetest.Links, c *bubble.Cluster){
		"refused":   func(_ *redlock.Locker, links *nodetest.Links, _ *bubble.Cluster) { links.Cut() },
		"no answer": func(_ *redlock.Locker, links *nodetest.Links, _ *bubble.Cluster) { links.Hang() },
		"gone since": func(l *redlock.Locker, links *nodetest.Links, _ *bubble.Cluster) {
			_, _ = l.TryAcquire(context.Background(), "warm up")
			links.Cut()
		},
		"no password": func(_ *redlock.Locker, _ *nodetest.Links, c *bubble.Cluster) {
			for i := range c.N {
				c.Node(i).RequireAuth("secret")
			}
		},
	} {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d nodes", what, n), func(t *testing.T) {
				bubble.Run(t, n, func(t *testing.T, c *bubble.Cluster) {
					l, links := c.Locker()
					fail(l, links, c)
					ctx, cancel := context.WithTimeout(t.Context(), 3*ttl)
					defer cancel()
					if _, err := l.Acquire(ctx, "x"); err == nil {
						t.Error("acquired")
					}
					var err error
					took := bubble.Took(func() { err = l.Close(context.Background()) })
					if err != nil || took > time.Second {
						t.Errorf("took %v: %v", took, err)
					}
				})
			})
		}
	}
}
