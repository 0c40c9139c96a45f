package redlock_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Whatever one node has instead of a number, the other nodes grant.
func TestForgedNumber_IsThatNodesError(t *testing.T) {
	for number, inMemory := range map[string]bool{ // whether the in-memory nodes parse it as a number, as Redis does
		"-000000000000005": true, "9999999999999999": true,
		"nan             ": false, "inf             ": false, "1e300           ": false,
	} {
		t.Run(number, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				l, _ := c.Locker()
				first := acquireAndRelease(t, l, "x")
				records.Default.SpoilNumber(t, "x", number, c.Raw()[0])
				if second := acquireAndRelease(t, l, "x"); second <= first || second > first+2 {
					t.Errorf("token %d after %d", second, first)
				}
				records.Default.SpoilHighest(t, number, c.Raw()[0])
				c.Kill(1)
				mustAcquire(t, l, "z") // all other numbers of that node can be counted on
				if !inMemory {
					return
				}
				_, err := l.TryAcquire(t.Context(), "x")
				want.Text(t, err, "7001: the number "+number)
			})
		})
	}
}

// One node whose numbers of all locks start far ahead moves no token, and says so if its grant is needed.
func TestForgedNumber_OfAllLocksIsThatNodesError(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		before := acquireAndRelease(t, l, "x")
		for _, at := range []time.Time{time.Now().Add(10 * time.Hour), time.UnixMicro(1<<53 - 3)} {
			records.Default.SpoilHighest(t, fmt.Sprintf("%016d", at.UnixMicro()), c.Raw()[0])
			for _, name := range []string{"x", "y"} {
				if token := acquireAndRelease(t, l, name); token > before+5 {
					t.Errorf("token %d of %s after %d of x", token, name, before)
				}
			}
		}
		c.Kill(1)
		_, err := l.TryAcquire(t.Context(), "x")
		want.Text(t, err, "7001: the number ")
	})
}

// An event says, once a minute, which node has an implausible number, however often that node is asked.
func TestForgedNumber_IsReported(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		reported := reportsOf(l, redlock.NodeFails, redlock.NodeProblem)
		acquireAndRelease(t, l, "x")
		for range 60 {
			records.Default.SetNumber(t, "x", uint64(time.Now().Add(12*time.Hour).UnixMicro()), c.Raw()[0])
			acquireAndRelease(t, l, "x")
			time.Sleep(2 * time.Second)
		}
		nodes := l.Nodes(t.Context())
		if n := nodes[0]; n.Err != nil {
			t.Errorf("it is %+v", n)
		}
		all := reported()
		if n := len(all); n < 2 || n > 3 {
			t.Fatalf("reported %d times in two minutes", n)
		}
		if e := all[0]; e.Addr != nodes[0].Addr || e.Op != "number" || !strings.HasPrefix(e.Err.Error(), "the number ") {
			t.Errorf("reported %+v", e)
		}
		time.Sleep(time.Minute)
		acquireAndRelease(t, l, "y")
		if len(reported()) > len(all) {
			t.Errorf("a minute after it was mended: reported %+v", reported())
		}
	})
}

// The clocks of all nodes were ahead and have been set right. The numbers from before are still ahead, and the locks go on
// from there. So a majority has them; one node alone moves no token. A lock whose holder died meanwhile is free again
// when the longest lease is over.
func TestForgedNumber_IsNoneIfAMajorityHasIt(t *testing.T) {
	for _, of := range []struct {
		nodes int
		ahead time.Duration
		used  bool // before the clocks were ahead, so that no guard starts again
	}{{3, 2 * time.Hour, false}, {3, 400 * 24 * time.Hour, true}, {1, 10 * time.Hour, true}, {1, 400 * 24 * time.Hour, false}} {
		t.Run(fmt.Sprintf("%+v", of), func(t *testing.T) {
			bubble.RunFresh(t, of.nodes, func(t *testing.T, c *bubble.Cluster) { wereAhead(t, c, of.ahead, of.used) })
		})
	}
}

func wereAhead(t *testing.T, c *bubble.Cluster, ahead time.Duration, used bool) {
	set := func(offset time.Duration) {
		for i := range c.Raw() {
			c.Offset(i, offset)
		}
	}
	before, _ := c.Locker()
	if used {
		_, _ = before.TryAcquire(t.Context(), "y") // starts the guard
		time.Sleep(ttl + time.Second)
	}
	set(ahead)
	_, _ = before.TryAcquire(t.Context(), "y")
	time.Sleep(ttl + time.Second)
	last := mustAcquire(t, before, "dead").Token()
	last = max(last, acquireAndRelease(t, before, "x"))
	set(0)
	l, process := c.Locker() // has not seen the nodes before
	for range 2 {
		if _, err := l.TryAcquire(t.Context(), "dead"); err == nil {
			t.Error("the lock of a holder that may have it is granted")
		}
		time.Sleep(ttl/2 + time.Second)
	}
	if token := mustAcquire(t, l, "dead").Token(); token <= last {
		t.Errorf("token %d of the lock of the dead holder, after %d", token, last)
	}
	for i := range c.Raw() {
		if len(c.Raw()) > 1 {
			process.Hang(i)
		}
		token := acquireAndRelease(t, l, "x")
		if token <= last || token > last+5 {
			t.Errorf("token %d after %d", token, last)
		}
		last = token
		process.Heal()
		time.Sleep(time.Second)
	}
	if len(c.Raw()) == 1 {
		return
	}
	records.Default.SetNumber(t, "x", last+1_000_000, c.Raw()[0])
	if token := acquireAndRelease(t, l, "x"); token <= last || token > last+5 {
		t.Errorf("token %d after %d: one node has moved it", token, last)
	}
	process.Hang(1)
	_, err := l.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrNoQuorum)
	want.Text(t, err, c.Addrs()[0]+": the number ")
}

// A node may not know how long a lease can last: if that was taken without the guard, or is longer than a day and another
// process has shorter ones. It brings no such lease forward.
func TestSetBack_CutsNoLeaseThatIsLongerThanTheGuardKnows(t *testing.T) {
	const day = 24 * time.Hour
	unguarded := redlock.WithoutRestartGuard()
	for name, of := range map[string]struct {
		long time.Duration
		a, b []redlock.Option
	}{
		"both without the guard": {time.Minute, []redlock.Option{unguarded}, []redlock.Option{unguarded, redlock.WithMaxTTL(time.Minute)}},
		"one without the guard":  {time.Minute, []redlock.Option{unguarded}, nil},
		"above a day":            {3 * day, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				b, _ := c.Locker(of.b...)
				acquireAndRelease(t, b, "y")
				a, _ := c.Locker(append(of.a, redlock.WithMaxTTL(of.long))...)
				_, _ = a.TryAcquire(t.Context(), "y") // lengthens the guard, if it has one
				time.Sleep(of.long + ttl)
				lease := mustAcquire(t, a, "x", redlock.WithLeaseTTL(of.long))
				synctest.Wait()
				acquireAndRelease(t, b, "z")
				for lease.Valid() {
					if _, err := b.TryAcquire(t.Context(), "x"); err == nil {
						t.Fatalf("two holders, %v before the end of the first lease", time.Until(lease.Deadline()))
					}
					time.Sleep(of.long / 20)
				}
			})
		})
	}
}

// A number on one node that is ahead of the clocks does not raise any token: the other nodes drop their numbers
// eventually, and start again from their clocks.
func TestForgedNumber_TokensNeverGoBack(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, c *bubble.Cluster, l *redlock.Locker){
		"old records are removed": func(t *testing.T, c *bubble.Cluster, l *redlock.Locker) {
			time.Sleep(time.Hour + 2*time.Second)
			for range 3 * redlock.SweepAfter {
				acquireAndRelease(t, l, "y")
			}
			if records.Default.HasNumber(t, "x", c.Raw()[1]) {
				t.Error("node 1 still has the number: the test shows nothing")
			}
		},
		"all nodes are flushed": func(t *testing.T, c *bubble.Cluster, l *redlock.Locker) {
			for _, n := range c.Raw() {
				n.FlushAll(t.Context())
			}
			if _, err := l.TryAcquire(t.Context(), "x"); err == nil {
				t.Error("nodes without data grant")
			}
			time.Sleep(ttl + time.Second)
		},
	} {
		for _, ahead := range []time.Duration{ttl / 2, 23 * time.Hour} {
			t.Run(name+", "+ahead.String(), func(t *testing.T) {
				bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
					l, _ := c.Locker()
					first := acquireAndRelease(t, l, "x")
					records.Default.SetNumber(t, "x", uint64(time.Now().Add(ahead).UnixMicro()), c.Raw()[0])
					second := acquireAndRelease(t, l, "x")
					forget(t, c, l)
					if third := acquireAndRelease(t, l, "x"); second <= first || third <= second {
						t.Errorf("token %d, then %d, then %d", first, second, third)
					}
				})
			})
		}
	}
}

// A node whose clock is ahead by the permitted skew, and whose number is rewritten before each attempt, keeps nobody
// from the lock: the others accept the numbers that it raises.
func TestForgedNumber_StopsNoGrants(t *testing.T) {
	for _, ahead := range []time.Duration{ttl / 2, 24*time.Hour - time.Millisecond} {
		t.Run(ahead.String(), func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				const offset = 300 * time.Millisecond
				c.Offset(0, offset)
				l, _ := c.Locker()
				acquireAndRelease(t, l, "x")
				time.Sleep(time.Minute)
				acquireAndRelease(t, l, "x")
				for range 40 {
					time.Sleep(10 * time.Millisecond)
					records.Default.SetNumber(t, "x", uint64(time.Now().Add(offset+ahead).UnixMicro()), c.Raw()[0])
					acquireAndRelease(t, l, "x")
					synctest.Wait()
				}
			})
		})
	}
}
