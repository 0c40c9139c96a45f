package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/accept"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// usedBy makes a process with a list of these nodes, which holds a lock, and returns the token.
func usedBy(c *bubble.Cluster, nodes ...int) (*redlock.Locker, *redlock.Lease) {
	c.T.Helper()
	l, _ := c.LockerOf(nodes)
	warmGuard(c.T, l)
	return l, mustAcquire(c.T, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
}

// While a process with the old list holds a lock, no process with another list gets one, and says what it waits for. It gets the lock
// with a larger token when the old process has stopped, without anybody's help.
func TestLists_ChangeWhenNobodyUsesTheOldOne(t *testing.T) {
	const most = ttl + time.Second // until the old list is unused
	for name, of := range map[string]struct {
		before, after []int
		within        time.Duration
		says          string
	}{
		"from one to three":   {[]int{0}, []int{0, 1, 2}, most + ttl, "a list of one"},
		"from three to five":  {[]int{0, 1, 2}, []int{0, 1, 2, 3, 4}, most, "a list of 3"},
		"from five to three":  {[]int{0, 1, 2, 3, 4}, []int{0, 1, 2}, most, "a list of 5"},
		"one is replaced":     {[]int{0, 1, 2}, []int{0, 1, 3}, most, "a list of 3"},
		"two are replaced":    {[]int{0, 1, 2, 3, 4}, []int{0, 1, 2, 5, 6}, most, "a list of 5"},
		"in the other order":  {[]int{2, 1, 0}, []int{3, 0, 1}, most, "a list of 3"},
		"to five, one is new": {[]int{0, 1, 2}, []int{4, 3, 2, 1, 0}, most, "a list of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, 7, func(t *testing.T, c *bubble.Cluster) {
				old, lease := usedBy(c, of.before...)
				later, _ := c.LockerOf(of.after)
				time.Sleep(3 * ttl)
				_, err := later.TryAcquire(t.Context(), "y")
				want.Err(t, err, redlock.ErrGuarded)
				want.Text(t, err, "in use with "+of.says+"; waiting until its users have stopped, at most 11s after the last")
				if !lease.Valid() {
					t.Error("the lease is over")
				}
				want.NoError(t, lease.Release(t.Context()), old.Close(t.Context()))
				began := time.Now()
				next, err := later.Acquire(t.Context(), "x")
				want.NoError(t, err)
				if took := time.Since(began); took > of.within+3*time.Second {
					t.Errorf("it took %v, want %v", took, of.within)
				}
				if next.Token() <= lease.Token() {
					t.Errorf("token %d after %d", next.Token(), lease.Token())
				}
			})
		})
	}
}

// A lost node is replaced while the list is in use: the lease goes on, and so do all processes.
func TestLists_ALostNodeIsReplacedInUse(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, lease := usedBy(c, 0, 1, 2)
		other, _ := c.Locker()
		warmUp(t, other)
		for _, node := range []int{2, 0, 1} {
			c.Kill(node)
			c.Wipe(node)
			c.Restart(node)
			time.Sleep(2 * ttl)
			acquireAndRelease(t, l, "y")
			acquireAndRelease(t, other, "y")
			want.NoError(t, lease.Extend(t.Context()))
			for i, n := range l.Nodes(t.Context()) {
				if n.List.State != redlock.ListJoined || n.Guard > 0 {
					t.Errorf("after the loss of %d, node %d is %+v", node, i, n)
				}
			}
		}
	})
}

// The nodes at the addresses of a list lose their data, all but one at a time, whether or not somebody uses it: nobody has to
// decide. While five nodes are in use, two that lose their data cost nothing.
func TestLists_NodesThatLoseTheirDataTogether(t *testing.T) {
	for name, of := range map[string]struct {
		nodes, lost []int
		inUse       bool
	}{
		"two of three":         {[]int{0, 1, 2}, []int{0, 2}, false},
		"all of three":         {[]int{0, 1, 2}, []int{0, 1, 2}, false},
		"three of five":        {[]int{0, 1, 2, 3, 4}, []int{0, 1, 4}, false},
		"two of five, in use":  {[]int{0, 1, 2, 3, 4}, []int{1, 4}, true},
		"one of three, in use": {[]int{0, 1, 2}, []int{1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, len(of.nodes), func(t *testing.T, c *bubble.Cluster) {
				l, lease := usedBy(c, of.nodes...)
				if !of.inUse {
					want.NoError(t, lease.Release(t.Context()), l.Close(t.Context()))
				}
				for _, node := range of.lost {
					c.Kill(node)
					c.Wipe(node)
					c.Restart(node)
				}
				began := time.Now()
				other, _ := c.LockerOf(of.nodes)
				ctx, cancel := context.WithTimeout(t.Context(), 10*ttl)
				defer cancel()
				next, err := other.Acquire(ctx, "y")
				want.NoError(t, err)
				if took := time.Since(began); took > 2*ttl+5*time.Second {
					t.Errorf("it took %v", took)
				}
				if next.Token() < lease.Token() { // of another lock
					t.Errorf("token %d after %d", next.Token(), lease.Token())
				}
				if of.inUse != lease.Valid() {
					t.Errorf("the lease is valid: %t", lease.Valid())
				}
				time.Sleep(2 * ttl)
				for i, n := range other.Nodes(t.Context()) {
					if n.List.State != redlock.ListJoined || n.Guard > 0 {
						t.Errorf("in the end, node %d is %+v", i, n)
					}
				}
			})
		})
	}
}

// A node gets data back from before the list changed twice, while its users go on. It comes back into the list by itself.
func TestLists_OlderDataInUse(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, lease := usedBy(c, 0, 1, 2)
		for _, node := range []int{2, 0} { // which has an id that the list has, and one that it has not
			older := c.Snapshot(node)
			for _, lost := range []int{0, 1, 2} {
				if lost != node || node == 0 {
					c.Kill(lost)
					c.Wipe(lost)
					c.Restart(lost)
					time.Sleep(2 * ttl)
					acquireAndRelease(t, l, "y")
				}
			}
			c.RestartFrom(node, older)
			time.Sleep(2 * ttl)
			acquireAndRelease(t, l, "y")
			time.Sleep(2 * ttl)
			for i, n := range l.Nodes(t.Context()) {
				if n.List.State != redlock.ListJoined || n.Guard > 0 {
					t.Errorf("node %d is %+v", i, n)
				}
			}
		}
		if !lease.Valid() {
			t.Error("the lease is over")
		}
	})
}

// A deploy from three nodes to five is rolled back when one of the three has taken the longer list. Those who use the list of three get
// the node back, while they use it.
func TestLists_AChangeThatIsRolledBack(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, lease := usedBy(c, 0, 1, 2)
		want.NoError(t, lease.Release(t.Context()))
		time.Sleep(2 * ttl)
		const hash = "{redlock}"
		guard, state := c.Node(0).HGet(hash, "g"), c.Node(0).HGet(hash, "s")
		longer := "0123456789abcdef:9::" + state[strings.LastIndex(state, ":")+1:] + ",00000000000000d0,00000000000000e0"
		c.Node(0).HSet(hash, "g", guard[:90]+strings.Repeat("-", 16)+guard[106:])
		c.Node(0).HSet(hash, "s", state+" "+longer)
		lease = mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		time.Sleep(3 * ttl)
		acquireAndRelease(t, l, "y")
		if !lease.Valid() {
			t.Error("the lease is over")
		}
		for i, n := range l.Nodes(t.Context()) {
			if n.List.State != redlock.ListJoined || n.List.Nodes != 3 {
				t.Errorf("node %d is %+v", i, n)
			}
		}
	})
}

// Nodes of two lists without a common majority, a node of another service, and one that is named twice are refused, and the error names
// the node. A person may accept them.
func TestLists_AMistakeIsRefused(t *testing.T) {
	for name, of := range map[string]struct {
		nodes []int
		kind  error
		says  string
	}{
		"a node was forgotten":      {[]int{2}, redlock.ErrConfig, "it remembers a list of 3, of which no majority is among these nodes"},
		"a node of another service": {[]int{0, 1, 3}, redlock.ErrGuarded, "7004: the nodes are in use with a list of one"},
		"only new nodes and one":    {[]int{0, 4, 5}, redlock.ErrConfig, "7001: it remembers a list of 3, of which no majority"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, 6, func(t *testing.T, c *bubble.Cluster) {
				_, lease := usedBy(c, 0, 1, 2)
				_, alone := usedBy(c, 3)
				wrong, _ := c.LockerOf(of.nodes)
				_, err := wrong.TryAcquire(t.Context(), "x")
				want.Err(t, err, of.kind)
				want.Text(t, err, of.says)
				time.Sleep(3 * ttl)
				if !lease.Valid() || !alone.Valid() {
					t.Error("the lease of those who use the nodes is over")
				}
			})
		})
	}
}

// From three to one: who knows one node alone cannot ask the others, so a person accepts it.
func TestLists_APersonAcceptsOneOfThree(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		old, lease := usedBy(c, 0, 1, 2)
		want.NoError(t, lease.Release(t.Context()), old.Close(t.Context()))
		alone, _ := c.LockerOf([]int{1})
		time.Sleep(10 * ttl)
		_, err := alone.TryAcquire(t.Context(), "x")
		want.Text(t, err, "redlockctl nodes --join")
		accept.Nodes(t, alone)
		_, err = alone.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrGuarded)
		if next, err := alone.Acquire(t.Context(), "x"); err != nil || next.Token() <= lease.Token() {
			t.Errorf("%v, or its token is not above %d", err, lease.Token())
		}
	})
}

// At the very first start all nodes must be heard once. Afterwards a majority is enough.
func TestLists_AllNodesAreHeardOnce(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, links := c.Locker()
		links.Cut(2)
		time.Sleep(time.Hour)
		_, err := l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "all nodes must be heard once")
		links.Heal()
		warmGuard(t, mustJoin(t, l))
		other, links := c.Locker()
		links.Cut(1)
		mustAcquire(t, other, "x")
	})
}

// mustJoin waits until the nodes of a Locker are a list.
func mustJoin(t *testing.T, l *redlock.Locker) *redlock.Locker {
	t.Helper()
	for {
		_, err := l.TryAcquire(t.Context(), "warm up")
		if err == nil || errors.Is(err, redlock.ErrGuarded) {
			return l
		}
		time.Sleep(time.Second)
	}
}

// A Locker that nobody uses sends nothing, and one whose list was replaced notices that with its next request.
func TestLists_AnIdleLockerSendsNothing(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, lease := usedBy(c, 0, 1, 2)
		want.NoError(t, lease.Release(t.Context()))
		time.Sleep(time.Minute)
		synctest.Wait()
		before := c.Asked()
		time.Sleep(24 * time.Hour)
		if sent := c.Asked() - before; sent > 0 {
			t.Errorf("%d requests in a day", sent)
		}
		mustAcquire(t, l, "x")
	})
}

// An idle Locker sends nothing, also while a node that has lost its data cannot be replaced because another is down.
func TestLists_AnIdleLockerSendsNothingWhileANodeIsLost(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, lease := usedBy(c, 0, 1, 2)
		want.NoError(t, lease.Release(t.Context()))
		c.Kill(1)
		c.Kill(2)
		c.Wipe(2)
		c.Restart(2)
		_, _ = l.TryAcquire(t.Context(), "x")
		time.Sleep(time.Minute)
		synctest.Wait()
		before := c.Asked()
		time.Sleep(time.Hour)
		if sent := c.Asked() - before; sent > 0 {
			t.Errorf("%d requests in an hour", sent)
		}
	})
}
