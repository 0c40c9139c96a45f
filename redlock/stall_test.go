package redlock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// soon is how long it may take to get a released lock, whatever became of the waiters ahead: far less than a lease
// lasts.
const soon = 250 * time.Millisecond

// waiter is a process that waits for a lock.
type waiter struct {
	locker *redlock.Locker
	links  *nodetest.Links
	ended  chan error // receives the error of its Acquire
}

// newWaiter makes a process that is not waiting yet.
func newWaiter(c *bubble.Cluster) *waiter {
	c.T.Helper()
	l, links := c.Locker()
	warmUp(c.T, l)
	return &waiter{l, links, make(chan error, 1)}
}

// newAliased makes a process that reaches the nodes by other addresses. All such processes agree on the order of the
// nodes, but other processes have another order.
func newAliased(c *bubble.Cluster) *waiter {
	c.T.Helper()
	links := c.Links()
	var clients []redis.UniversalClient
	for i := range c.N {
		options := links.Options(i)
		options.Addr = fmt.Sprintf("alias-%d:6379", i)
		client := redis.NewClient(options)
		c.T.Cleanup(func() { _ = client.Close() }) // it is open
		clients = append(clients, client)
	}
	l, err := redlock.New(clients)
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() {
		c.Heal()
		_ = l.Close(context.Background()) // its error lists the lease that the test has left
	})
	warmUp(c.T, l)
	return &waiter{l, links, make(chan error, 1)}
}

// begins starts to wait for a lock.
func (w *waiter) begins(ctx context.Context, name string, opts ...redlock.AcquireOption) func() {
	return func() {
		go func() { // ends with ctx, or when the Locker is closed
			_, err := w.locker.Acquire(ctx, name, opts...)
			w.ended <- err
		}()
	}
}

// hasItSoonAfter releases the lock, and fails the test unless the waiter gets it within limit.
func (w *waiter) hasItSoonAfter(t *testing.T, lease *redlock.Lease, limit time.Duration) {
	t.Helper()
	began := time.Now()
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > limit {
		t.Errorf("had it %v after the release, want at most %v", took, limit)
	}
}

// takenOnAll takes a lock that is free, and returns when all nodes have answered.
func takenOnAll(t *testing.T, l *redlock.Locker, name string, opts ...redlock.AcquireOption) *redlock.Lease {
	t.Helper()
	lease := mustAcquire(t, l, name, opts...)
	synctest.Wait()
	return lease
}

// listed starts these waiters one after the other, and waits until each is in the list of some node, so the lists have
// this order.
func listed(t *testing.T, c *bubble.Cluster, name string, begin ...func()) {
	t.Helper()
	for i, fn := range begin {
		fn()
		bubble.Await(t, "list", ttl/2, func() bool {
			return slices.ContainsFunc(c.Raw(), func(node *redis.Client) bool {
				who, err := records.Default.WaitingOn(t.Context(), name, node)
				if err != nil {
					t.Error(err)
				}
				return len(who) == i+1
			})
		})
		synctest.Wait()
	}
}

// nameInOtherLists returns a lock for which the nodes that the holder asks first keep no list of waiters.
func nameInOtherLists(holder, waiter *redlock.Locker) string {
	for i := 0; ; i++ {
		name := fmt.Sprint("x", i)
		lists := waiter.Order(name)[:2]
		if !slices.ContainsFunc(holder.Order(name)[:2], func(node int) bool { return slices.Contains(lists, node) }) {
			return name
		}
	}
}

// line is a held lock for which processes wait, in order.
type line struct {
	*bubble.Cluster
	holder *waiter
	ahead  []*waiter // those who wait before the last one
	end    func()    // ends the wait of those ahead
	first  int       // the node that notifies the first waiter
}

func (l *line) hangAhead() {
	for _, w := range l.ahead {
		w.links.Hang()
	}
}

// Whatever becomes of the waiters ahead, of the nodes that list them and of their clocks, the next one has the lock
// soon after its release.
func TestAcquire_GetsTheLockSoonWhateverBecameOfThoseAhead(t *testing.T) {
	for name, of := range map[string]struct {
		nodes, ahead int
		happens      func(l *line)
		within       time.Duration
	}{
		"all is well": {3, 0, func(*line) {}, 10 * time.Millisecond},
		"one hangs":   {3, 1, (*line).hangAhead, 50 * time.Millisecond},
		"two hang":    {3, 2, (*line).hangAhead, 100 * time.Millisecond},
		"many hang":   {3, 30, (*line).hangAhead, 30 * 25 * time.Millisecond},
		"many gave up": {3, 20, func(l *line) {
			l.end()
			synctest.Wait()
		}, 20 * 5 * time.Millisecond}, // by themselves, the nodes skip one every 20 ms
		"its holder is cut from the first node": {3, 0, func(l *line) { l.holder.links.Cut(l.first) }, soon},
		"it ends, and the first node hangs": {3, 1, func(l *line) {
			l.Hang(l.first)
			time.AfterFunc(5*time.Millisecond, l.end)
		}, soon},
		"three hang, and the clocks of those who notified are set back": {5, 3, func(l *line) {
			l.hangAhead()
			time.AfterFunc(time.Millisecond, func() {
				for _, i := range l.holder.locker.Order("x")[:2] {
					l.Jump(i, -3*time.Second)
				}
			})
		}, soon},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, of.nodes, func(t *testing.T, c *bubble.Cluster) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				l := &line{Cluster: c, holder: newWaiter(c), end: end}
				l.first = l.holder.locker.Order("x")[0]
				lease := takenOnAll(t, l.holder.locker, "x", redlock.WithAutoExtend(redlock.Extension{}))
				var begin []func()
				for range of.ahead {
					w := newWaiter(c)
					l.ahead, begin = append(l.ahead, w), append(begin, w.begins(ctx, "x"))
				}
				next := newWaiter(c)
				listed(t, c, "x", append(begin, next.begins(t.Context(), "x"))...)
				of.happens(l)
				next.hasItSoonAfter(t, lease, of.within)
			})
		})
	}
}

// Waiters may be in the lists of other nodes than the one that removes the first waiter. Whatever the first waiter does
// when it is notified, the next one gets the lock soon.
func TestAcquire_BehindOneWhoseOrderDiffersFromTheHolders(t *testing.T) {
	for does, schedule := range map[string]struct {
		opts []redlock.AcquireOption
		then func(first *waiter, end context.CancelFunc)
	}{
		"hangs":              {nil, func(first *waiter, _ context.CancelFunc) { first.links.Hang() }},
		"ends":               {nil, func(_ *waiter, end context.CancelFunc) { end() }},
		"gives a head start": {[]redlock.AcquireOption{redlock.WithHeadStart(3 * time.Second)}, func(*waiter, context.CancelFunc) {}},
	} {
		t.Run(does, func(t *testing.T) {
			bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
				holder, _ := c.Locker()
				first, next := newAliased(c), newAliased(c)
				name := nameInOtherLists(holder, first.locker)
				lease := takenOnAll(t, holder, name)
				ctx, end := context.WithCancel(t.Context())
				defer end()
				listed(t, c, name, first.begins(ctx, name, schedule.opts...), next.begins(t.Context(), name))
				schedule.then(first, end)
				next.hasItSoonAfter(t, lease, soon)
			})
		})
	}
}

// A process that releases the lock and wants it again at once queues behind others even if other nodes list them.
func TestAcquire_AgainGoesBehindThoseWhoseOrderDiffers(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		c.Delay(300 * time.Microsecond)
		busy, other := newWaiter(c), newAliased(c)
		name := nameInOtherLists(busy.locker, other.locker)
		lease := takenOnAll(t, busy.locker, name)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		listed(t, c, name, other.begins(ctx, name))
		for range 20 {
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			mine, cancel := context.WithTimeout(t.Context(), time.Second)
			next, err := busy.locker.Acquire(mine, name)
			cancel()
			if err != nil {
				return // the other one has it
			}
			lease = next
			time.Sleep(100 * time.Millisecond)
		}
		t.Error("had it again 20 times while the other one waited")
	})
}

// An attempt that was granted too late looks like a hold. Its failure is published to all that wait for its end, since
// the first of them may hang.
func TestAcquire_BehindProcessesThatHangIsNotifiedOfAFailedAttempt(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		failing, first, second, next := newWaiter(c), newWaiter(c), newWaiter(c), newWaiter(c)
		began := time.Now()
		failing.links.Delay(nodeTimeout * 3 / 4) // the round trip exceeds the timeout
		ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout+5*time.Millisecond)
		defer cancel()
		failing.begins(ctx, "x", redlock.WithBackoff(50*time.Millisecond, 60*time.Millisecond))()
		bubble.Await(t, "grant", nodeTimeout, func() bool { return on(c, "x") == 3 })
		listed(t, c, "x", first.begins(t.Context(), "x"), second.begins(t.Context(), "x"), next.begins(t.Context(), "x"))
		first.links.Hang()
		second.links.Hang()
		time.Sleep(time.Until(began.Add(nodeTimeout))) // by then it has failed
		failing.links.Heal()
		if err := <-next.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > nodeTimeout+soon {
			t.Errorf("had it %v after the attempt had failed, want at most %v", took-nodeTimeout, soon)
		}
	})
}

// The first in line reaches only the two of five nodes that keep the line, so its attempt fails at once, and its caller gives
// up before these two have answered. The next one takes the attempt for a hold, in some of the ten rounds.
func TestAcquire_BehindACallerThatGivesUpIsNotifiedOfItsFailedAttempt(t *testing.T) {
	long(t)
	for round := range 10 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
				failing, next := newWaiter(c), newWaiter(c)
				holder, _ := c.Locker()
				lease := takenOnAll(t, holder, "x")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				listed(t, c, "x", failing.begins(ctx, "x", redlock.WithBackoff(time.Second, time.Second)), next.begins(t.Context(), "x"))
				for i, node := range c.Raw() {
					if who, err := records.Default.WaitingOn(t.Context(), "x", node); err != nil {
						t.Error(err)
					} else if len(who) > 0 {
						failing.links.Delay(4*time.Millisecond, i)
					} else {
						failing.links.Cut(i)
					}
				}
				want.NoError(t, lease.Release(t.Context()))
				released := time.Now()
				time.Sleep(6 * time.Millisecond) // the attempt has failed
				cancel()
				if err := <-next.ended; err != nil {
					t.Error(err)
				}
				if took := time.Since(released); took > soon {
					t.Errorf("had it %v after the release, want at most %v", took, soon)
				}
			})
		})
	}
}

// The callers of one process take turns without a pause, even if some or all nodes do not confirm the subscription.
func TestAcquire_InTurnsWhereNodesCannotTell(t *testing.T) {
	for what, prepare := range map[string]func(*bubble.Cluster){
		"subscribing is denied": func(c *bubble.Cluster) {
			for i := range c.N {
				c.Deny(i, "SUBSCRIBE")
			}
		},
		"one node does not answer it": func(c *bubble.Cluster) {
			c.SetPreHook(2, func(_ *server.Peer, cmd string, _ ...string) bool { return cmd == "SUBSCRIBE" })
		},
	} {
		t.Run(what, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				const callers, turns, each = 2, 20, 10 * time.Millisecond
				prepare(c)
				l, _ := c.Locker()
				warmUp(t, l)
				c.Delay(300 * time.Microsecond)
				took := bubble.Took(func() {
					var all sync.WaitGroup
					for range callers {
						all.Go(func() { takeTurns(t, l, turns, 0) })
					}
					all.Wait()
				})
				if took > callers*turns*each {
					t.Errorf("%d turns took %v", callers*turns, took)
				}
			})
		})
	}
}

// A waiter learns of a release by its own process even if no node can notify it.
func TestAcquire_IsNotifiedOfAReleaseByItsOwnProcess(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		for i := range c.N {
			c.Deny(i, "SUBSCRIBE")
		}
		w := newWaiter(c)
		lease := takenOnAll(t, w.locker, "x")
		w.begins(t.Context(), "x")()
		time.Sleep(ttl / 4) // refused and not listed, it waits for the end of the lease
		w.hasItSoonAfter(t, lease, soon)
	})
}
