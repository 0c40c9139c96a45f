package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

func TestTryAcquire_TakesTheLockOnAllNodes(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		rival, _ := c.locker()

		lease := mustAcquire(t, l, "x", redlock.WithValue("pod-1"))
		synctest.Wait()
		if got := c.keys("x"); got != 5 {
			t.Errorf("the lock is on %d nodes, want 5", got)
		}
		if !lease.Valid() || lease.Name() != "x" || lease.Token() == 0 {
			t.Errorf("valid %v, name %q, token %d", lease.Valid(), lease.Name(), lease.Token())
		}

		_, err := rival.TryAcquire(t.Context(), "x")
		wantErr(t, err, redlock.ErrHeld)
		wantText(t, err, `acquire "x"`, `held by "pod-1" for 10s`, "0 of 3 nodes", "127.0.0.1:7001")
		var q *redlock.QuorumError
		if !errors.As(err, &q) || q.Need != 3 || q.Got != 0 || len(q.Nodes) < 3 {
			t.Errorf("got %+v", q)
		}

		mustAcquire(t, rival, "y") // another name is another lock

		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := c.keys("x"); got != 0 {
			t.Errorf("the lock is still on %d nodes", got)
		}
		next := mustAcquire(t, rival, "x")
		if next.Token() <= lease.Token() {
			t.Errorf("token %d after %d", next.Token(), lease.Token())
		}
	})
}

// What a node can be while an attempt runs.
const (
	free = iota
	taken
	dead
	hung
	states
)

// Each mix of node states has one right outcome, is decided by the node timeout, and leaves none
// of our keys behind when it fails.
func TestTryAcquire_EveryMixOfNodes(t *testing.T) {
	for _, n := range []int{1, 3, 5} {
		for mask := range pow(states, n) {
			counts := make([]int, states)
			nodes := make([][]int, states)
			for i, m := 0, mask; i < n; i, m = i+1, m/states {
				counts[m%states]++
				nodes[m%states] = append(nodes[m%states], i)
			}
			if n == 5 && !sorted(mask, n) {
				continue // the order of the nodes plays no part; once is enough for five
			}
			t.Run(fmt.Sprintf("n=%d free,taken,dead,hung=%v", n, nodes), func(t *testing.T) {
				bubble(t, n, func(t *testing.T, c *cluster) {
					l, process := c.locker()
					warmUp(t, l)
					c.take("x", nodes[taken]...)
					if counts[dead] > 0 {
						process.Cut(nodes[dead]...)
					}
					if counts[hung] > 0 {
						process.Hang(nodes[hung]...)
					}

					var lease *redlock.Lease
					var err error
					if d := took(func() { lease, err = l.TryAcquire(t.Context(), "x") }); d > nodeTimeout {
						t.Errorf("took %v, longer than the node timeout", d)
					}

					need := n/2 + 1
					switch {
					case counts[free] >= need:
						if err != nil {
							t.Fatal(err)
						}
						if err := lease.Release(t.Context()); err != nil {
							t.Error(err)
						}
					case n-counts[taken] < need:
						wantErr(t, err, redlock.ErrHeld)
					default:
						wantErr(t, err, redlock.ErrNoQuorum)
					}

					process.Heal()
					time.Sleep(2 * nodeTimeout)
					if got := c.keys("x"); got != counts[taken] {
						t.Errorf("the lock is on %d nodes, want it on the %d taken by another only",
							got, counts[taken])
					}
				})
			})
		}
	}
}

func pow(b, n int) int {
	p := 1
	for range n {
		p *= b
	}
	return p
}

func sorted(mask, n int) bool {
	last := 0
	for i := 0; i < n; i, mask = i+1, mask/states {
		if mask%states < last {
			return false
		}
		last = mask % states
	}
	return true
}

// warmUp opens connections and loads scripts, so that a fault meets a running system.
func warmUp(t *testing.T, l *redlock.Locker) {
	t.Helper()
	if err := mustAcquire(t, l, "warm up").Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func TestTryAcquire_HungMinorityCostsNothing(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		l, process := c.locker() // at go-redis's default options
		warmUp(t, l)
		process.Hang(0, 3)
		for range 20 {
			if d := took(func() {
				lease := mustAcquire(t, l, "x")
				if err := lease.Extend(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := l.Holder(t.Context(), "x"); !errors.Is(err, redlock.ErrVacant) {
					t.Fatal(err)
				}
			}); d != 0 {
				t.Fatalf("took %v, want no time at all", d)
			}
		}
	})
}

func TestTryAcquire_CountsItsOwnGrantWhenTheReplyWasLost(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker(redlock.WithNodeTimeout(2 * time.Second)) // time for go-redis to try again
		first := mustAcquire(t, l, "x")
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		process.DropReplies()
		go func() { // ends with the sleep; the acquisition below takes longer
			time.Sleep(time.Millisecond)
			process.Heal()
		}()
		lease := mustAcquire(t, l, "x")
		if lease.Token() != first.Token()+1 {
			t.Errorf("token %d after %d: the retry was counted as another grant", lease.Token(), first.Token())
		}
	})
}

func TestTryAcquire_ValidityCountsFromTheSend(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		warmUp(t, l)
		process.Delay(80 * time.Millisecond) // a round trip takes 160 ms
		sent := time.Now()
		lease := mustAcquire(t, l, "x")
		if got := lease.Deadline().Sub(sent); got != validFor {
			t.Errorf("valid until %v after the send, want %v", got, validFor)
		}
		sent = time.Now()
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := lease.Deadline().Sub(sent); got != validFor {
			t.Errorf("after an extension valid until %v after the send, want %v", got, validFor)
		}
	})
}

func TestTryAcquire_AnswersSlowerThanTheLeaseAreNoLease(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker(redlock.WithTTL(300*time.Millisecond),
			redlock.WithNodeTimeout(99*time.Millisecond), redlock.WithDrift(0.2))
		warmUp(t, l)
		process.Delay(49 * time.Millisecond)
		_, err := l.TryAcquire(t.Context(), "x", redlock.WithLeaseTTL(100*time.Millisecond))
		wantErr(t, err, redlock.ErrExpired)
		time.Sleep(98 * time.Millisecond)
		if got := c.keys("x"); got != 0 {
			t.Errorf("%d keys left", got)
		}
	})
}

func TestTryAcquire_CancelledAtAnyMomentLeavesNothing(t *testing.T) {
	for at := time.Duration(0); at <= 50*time.Millisecond; at += 5 * time.Millisecond {
		t.Run(at.String(), func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, c *cluster) {
				l, process := c.locker()
				warmUp(t, l)
				for i := range 5 {
					process.Delay(time.Duration(2+5*i)*time.Millisecond, i)
				}
				ctx, cancel := context.WithTimeoutCause(t.Context(), at, errors.New("enough"))
				defer cancel()
				lease, err := l.TryAcquire(ctx, "x")
				if err == nil { // a quorum was faster
					if err := lease.Release(ctx); err != nil {
						t.Error(err)
					}
				} else {
					wantErr(t, err, context.Cause(ctx))
				}
				time.Sleep(2 * nodeTimeout)
				if got := c.keys("x"); got != 0 {
					t.Errorf("%d keys left", got)
				}
			})
		})
	}
}

func TestTryAcquire_NeverTouchesWhatIsNotOurs(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		for _, foreign := range []string{"locked", "2:abc:1:", "1:abc", "1:abc:x:"} {
			if err := c.Node(0).Set("{redlock}:lock:x", foreign); err != nil {
				t.Fatal(err)
			}
			_, err := l.TryAcquire(t.Context(), "x")
			wantErr(t, err, redlock.ErrNoQuorum)
			if foreign[0] == '2' {
				wantText(t, err, `layout "2"`, `knows "1"`)
			}
			if got, _ := c.Node(0).Get("{redlock}:lock:x"); got != foreign {
				t.Errorf("%q became %q", foreign, got)
			}
		}
	})
}

func TestAcquire_WaitsUntilTheLockIsFree(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		holder, _ := c.locker()
		waiter, _ := c.locker()
		lease := mustAcquire(t, holder, "x")
		time.AfterFunc(3*time.Second, func() {
			if err := lease.Release(context.Background()); err != nil {
				t.Error(err)
			}
		})
		var err error
		d := took(func() { _, err = waiter.Acquire(t.Context(), "x") })
		if err != nil || d < 3*time.Second || d > 3*time.Second+ttl/20+nodeTimeout {
			t.Errorf("after %v: %v", d, err)
		}
	})
}

func TestAcquire_GoesOnThroughAnOutage(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		process.Cut()
		time.AfterFunc(time.Minute, func() { process.Heal() })
		var err error
		if d := took(func() { _, err = l.Acquire(t.Context(), "x") }); err != nil || d < time.Minute {
			t.Errorf("after %v: %v", d, err)
		}
	})
}

func TestAcquire_EndedByItsContextSaysWhyAndWhatWasLast(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		c.take("x", 0, 1, 2)
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		_, err := l.Acquire(ctx, "x")
		wantErr(t, err, cause, redlock.ErrHeld)

		// Also if it ends in the middle of an attempt, which has no outcome of its own. There are many
		// where no majority names the same holder, and the one node that is left is of no use.
		c.takeBy("one", "y", 0)
		c.takeBy("two", "y", 1)
		c.Answer("LOADING Redis is loading the dataset in memory", 2)
		process.Delay(50 * time.Millisecond)
		for at := time.Second; at < 2*time.Second; at += 10 * time.Millisecond {
			ctx, cancel := context.WithTimeoutCause(t.Context(), at, cause)
			_, err = l.Acquire(ctx, "y")
			cancel()
			wantErr(t, err, cause, redlock.ErrHeld)
		}
	})
}

func TestAcquire_WithTheWrongPasswordEndsAtOnce(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		for i := range 2 {
			c.Node(i).RequireAuth("secret")
		}
		l, _ := c.locker()
		var err error
		if d := took(func() { _, err = l.Acquire(t.Context(), "x") }); d > nodeTimeout {
			t.Errorf("took %v", d)
		}
		wantErr(t, err, redlock.ErrNoQuorum)
		wantText(t, err, "NOAUTH")
		if d := took(func() { err = l.Close(t.Context()) }); d > nodeTimeout || err != nil {
			t.Errorf("nothing can have been set, and Close took %v: %v", d, err)
		}
		l, _ = c.locker()

		// One such node alone is like one that is down.
		c.Node(0).RequireAuth("")
		if _, err := l.Acquire(t.Context(), "x"); err != nil {
			t.Error(err)
		}
	})
}

func TestAcquire_OneOfManyAtATime(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		const contenders, rounds = 8, 5
		inside, total, token := 0, 0, uint64(0)
		done := make(chan error)
		for range contenders {
			l, process := c.locker()
			for i := range 5 {
				process.Delay(time.Duration(1+i)*time.Millisecond/4, i)
			}
			go func() { // each sends its outcome, and all are received below
				for range rounds {
					err := l.Do(t.Context(), "x", func(_ context.Context, lease *redlock.Lease) error {
						inside++
						total++
						if inside != 1 || lease.Token() <= token {
							return fmt.Errorf("%d inside at once, token %d after %d",
								inside, lease.Token(), token)
						}
						token = lease.Token()
						time.Sleep(time.Millisecond)
						inside--
						return nil
					})
					if err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range contenders {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if total != contenders*rounds {
			t.Errorf("%d of %d", total, contenders*rounds)
		}
	})
}

// Without a raise, a majority that was ahead would hand out a larger token than the one after it.
func TestAcquire_TokensIncreaseOverUnevenNodes(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		ahead := mustAcquire(t, l, "y").Token() + 1_000_000
		counter := fmt.Sprintf("1:%d:%s", ahead, c.Node(0).HGet("{redlock}:guard", "since"))
		if err := c.Node(0).Set("{redlock}:fence:x", counter); err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		for i := range 9 {
			c.Heal()
			time.Sleep(time.Second) // what the hung node was asked is settled
			c.Hang(i % 3)
			lease := mustAcquire(t, l, "x")
			if lease.Token() <= last {
				t.Errorf("token %d after %d", lease.Token(), last)
			}
			last = lease.Token()
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if last <= ahead || last > ahead+9 {
			t.Errorf("after 9 grants the token is %d, from %d: it was not counted", last, ahead)
		}
	})
}
