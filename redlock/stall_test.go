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
	"github.com/redlockfx/redlockfx/redlock"
)

// soon is within what somebody has a lock that was released, whatever became of those who are ahead: far less than a lease
// lasts.
const soon = 250 * time.Millisecond

// waiter is a process that waits for a lock.
type waiter struct {
	locker *redlock.Locker
	links  *nodetest.Links
	ended  chan error // what its Acquire has returned
}

// newWaiter makes a process that has not begun to wait.
func newWaiter(c *bubble.Cluster) *waiter {
	c.T.Helper()
	l, links := c.Locker()
	warmUp(c.T, l)
	return &waiter{l, links, make(chan error, 1)}
}

// newAliased makes a process that reaches the nodes by addresses of its own, which are the same for all such processes: they
// agree on the order of the nodes, and others have another one.
func newAliased(c *bubble.Cluster, as string) *waiter {
	c.T.Helper()
	links := c.Links()
	var clients []redis.UniversalClient
	for i := range c.N {
		options := links.Options(i)
		options.Addr = fmt.Sprintf("%s-%d:6379", as, i)
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
		_ = l.Close(context.Background()) // names the lease that the test has left
	})
	warmUp(c.T, l)
	return &waiter{l, links, make(chan error, 1)}
}

// begins returns what has it wait for a lock.
func (w *waiter) begins(ctx context.Context, name string, opts ...redlock.AcquireOption) func() {
	return func() {
		go func() { // ends with ctx, at the latest when the Locker is closed
			_, err := w.locker.Acquire(ctx, name, opts...)
			w.ended <- err
		}()
	}
}

// hasItSoonAfter releases the lock, and fails the test unless this one has it within limit.
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

// takenOnAll takes a lock that is free, and returns when all nodes know.
func takenOnAll(t *testing.T, l *redlock.Locker, name string, opts ...redlock.AcquireOption) *redlock.Lease {
	t.Helper()
	lease := mustAcquire(t, l, name, opts...)
	synctest.Wait()
	return lease
}

// nameInOtherLists returns a lock for which the nodes that the holder asks first keep no list of those who wait.
func nameInOtherLists(holder, waiter *redlock.Locker) string {
	for i := 0; ; i++ {
		name := fmt.Sprint("x", i)
		lists := waiter.Order(name)[:2]
		if !slices.ContainsFunc(holder.Order(name)[:2], func(node int) bool { return slices.Contains(lists, node) }) {
			return name
		}
	}
}

// Who waits may be in the lists of other nodes than the one that takes the first one off. Whatever that one does when it is
// told, the next one has the lock soon.
func TestAcquire_BehindOneWhoseOrderDiffersFromTheHolders(t *testing.T) {
	for does, schedule := range map[string]struct {
		opts []redlock.AcquireOption
		then func(first *waiter, end context.CancelFunc)
	}{
		"hangs":  {nil, func(first *waiter, _ context.CancelFunc) { first.links.Hang() }},
		"ends":   {nil, func(_ *waiter, end context.CancelFunc) { time.AfterFunc(5*time.Millisecond, end) }},
		"yields": {[]redlock.AcquireOption{redlock.WithYield(3 * time.Second)}, func(*waiter, context.CancelFunc) {}},
	} {
		t.Run(does, func(t *testing.T) {
			bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
				holder, _ := c.Locker()
				first, next := newAliased(c, "alias"), newAliased(c, "alias")
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

// Who gives the lock up and wants it again at once goes behind others also where they are in the lists of other nodes.
func TestAcquire_AgainGoesBehindThoseWhoseOrderDiffers(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		c.Delay(300 * time.Microsecond)
		busy, other := newWaiter(c), newAliased(c, "alias")
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

// The node that has the first one ask may hang, and the first one may wait no more: the other nodes have the next one told.
func TestAcquire_BehindOneThatEndsWhereTheFirstNodeHangs(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		first, next := newWaiter(c), newWaiter(c)
		lease := takenOnAll(t, holder, "x")
		ctx, end := context.WithCancel(t.Context())
		defer end()
		listed(t, c, "x", first.begins(ctx, "x"), next.begins(t.Context(), "x"))
		c.Hang(holder.Order("x")[0])
		time.AfterFunc(5*time.Millisecond, end)
		next.hasItSoonAfter(t, lease, soon)
	})
}

// Who gives the lock up may reach all nodes but the one that has the first one ask: the others tell of it as well.
func TestAcquire_BehindAHolderThatIsCutFromTheFirstNode(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, links := c.Locker()
		next := newWaiter(c)
		lease := takenOnAll(t, holder, "x")
		listed(t, c, "x", next.begins(t.Context(), "x"))
		links.Cut(holder.Order("x")[0])
		next.hasItSoonAfter(t, lease, soon)
	})
}

// However many are ahead and hang, as where a part of the network is gone: one after the other is passed over.
func TestAcquire_BehindVeryManyProcessesThatHang(t *testing.T) {
	const many = 60
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		lease := takenOnAll(t, holder, "x", redlock.WithAutoExtend(redlock.Extension{}))
		var hanging []*waiter
		var begin []func()
		for range many {
			w := newWaiter(c)
			hanging, begin = append(hanging, w), append(begin, w.begins(t.Context(), "x"))
		}
		next := newWaiter(c)
		listed(t, c, "x", append(begin, next.begins(t.Context(), "x"))...)
		for _, w := range hanging {
			w.links.Hang()
		}
		next.hasItSoonAfter(t, lease, many*25*time.Millisecond)
	})
}

// An attempt that was granted too late looks like a hold. That it has failed is told to all who wait for its end: the first
// ones of them may hang.
func TestAcquire_BehindProcessesThatHangIsToldOfAFailedAttempt(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		failing, first, second, next := newWaiter(c), newWaiter(c), newWaiter(c), newWaiter(c)
		began := time.Now()
		failing.links.Delay(nodeTimeout * 3 / 4) // there and back is longer than that
		ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout+5*time.Millisecond)
		defer cancel()
		failing.begins(ctx, "x", redlock.WithBackoff(50*time.Millisecond, 60*time.Millisecond))()
		bubble.Await(t, "grant", nodeTimeout, func() bool { return on(c, "x") == 3 })
		listed(t, c, "x", first.begins(t.Context(), "x"), second.begins(t.Context(), "x"), next.begins(t.Context(), "x"))
		first.links.Hang()
		second.links.Hang()
		time.Sleep(time.Until(began.Add(nodeTimeout))) // then it has failed
		failing.links.Heal()
		if err := <-next.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > nodeTimeout+soon {
			t.Errorf("had it %v after the attempt had failed, want at most %v", took-nodeTimeout, soon)
		}
	})
}

// Who waits hears of a release by its own process where no node can tell it.
func TestAcquire_HearsOfAReleaseByItsOwnProcess(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		for i := range c.N {
			c.Deny(i, "SUBSCRIBE")
		}
		w := newWaiter(c)
		lease := takenOnAll(t, w.locker, "x")
		w.begins(t.Context(), "x")()
		time.Sleep(ttl / 4) // it has been refused and cannot be listed: it waits for the end of the lease
		w.hasItSoonAfter(t, lease, soon)
	})
}

// The callers of one process take turns without a pause also where no node, or not every one, says that it listens to it.
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
						all.Go(func() {
							for range turns {
								lease, err := l.Acquire(t.Context(), "x")
								if err != nil {
									t.Error(err)
									return
								}
								_ = lease.Release(t.Context())
							}
						})
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
