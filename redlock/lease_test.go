package redlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

type key struct{}

func TestLease_ContextEndsAtTheDeadlineWhateverHangs(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
		lease, err := l.TryAcquire(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		process.Hang()
		cancel()
		held := lease.Context()
		if held.Err() != nil || held.Value(key{}) != "v" {
			t.Errorf("the lease's context ended with Acquire's, or has not its values")
		}
		time.Sleep(validFor - time.Nanosecond)
		synctest.Wait()
		if held.Err() != nil || !lease.Valid() {
			t.Error("ended before the deadline")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		wantErr(t, context.Cause(held), redlock.ErrExpired)
		if lease.Valid() {
			t.Error("still valid at the deadline")
		}
		wantErr(t, lease.Extend(t.Context()), redlock.ErrExpired)
		wantErr(t, context.Cause(lease.Context()), redlock.ErrExpired)
	})
}

func TestLease_ExtendMovesTheDeadline(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		lease := mustAcquire(t, l, "x")
		held := lease.Context()
		process.Cut(0, 4) // a minority changes nothing
		for range 10 {
			time.Sleep(ttl - ttl/10)
			if err := lease.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(validFor - time.Nanosecond)
		if !lease.Valid() || held.Err() != nil {
			t.Error("the last extension did not count")
		}
	})
}

func TestLease_ExtendRaisesTheFenceWhereItIsBehind(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		warmUp(t, l)
		process.Cut(2)
		for range 4 {
			lease := mustAcquire(t, l, "x")
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		process.Heal()
		time.Sleep(time.Second) // go-redis dials again once a second
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := c.fence("x", 2); got != lease.Token() {
			t.Errorf("node 2 counts %d, want the token, %d", got, lease.Token())
		}
	})
}

func TestLease_ExtendWithoutQuorumChangesNothing(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		lease := mustAcquire(t, l, "x")
		deadline := lease.Deadline()
		process.Hang(0, 1)
		wantErr(t, lease.Extend(t.Context()), redlock.ErrNoQuorum)
		if !lease.Valid() || !lease.Deadline().Equal(deadline) {
			t.Error("the lease changed")
		}
		process.Heal()
		if err := lease.Extend(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestLease_LostOnAMajorityEndsAtOnce(t *testing.T) {
	for name, lose := range map[string]func(c *cluster){
		"gone":  func(c *cluster) { c.Wipe(0); c.Wipe(2) },
		"taken": func(c *cluster) { c.take("x", 1, 2) },
		"both":  func(c *cluster) { c.take("x", 1); c.Wipe(2) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *cluster) {
				l, _ := c.locker()
				lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{Every: time.Second}))
				synctest.Wait()
				lose(c)
				select {
				case <-lease.Context().Done():
				case <-time.After(2 * time.Second):
					t.Fatal("held on")
				}
				wantErr(t, context.Cause(lease.Context()), redlock.ErrLost)
				if lease.Valid() || time.Until(lease.Deadline()) < 8*time.Second {
					t.Error("it took more than one extension to see the loss")
				}
				wantErr(t, lease.Extend(t.Context()), redlock.ErrLost)
			})
		})
	}
}

func TestLease_IsNeverAcquiredAnewByAnExtension(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		rival, _ := c.locker()
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		c.drop("x", 0, 1, 2)
		if err := mustAcquire(t, rival, "x").Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // on the third node too
		wantErr(t, lease.Extend(t.Context()), redlock.ErrLost)
		time.Sleep(nodeTimeout)
		if c.keys("x") != 0 {
			t.Error("the extension set the lock")
		}
	})
}

func TestLease_ReleaseWorksWithADoneContext(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		lease := mustAcquire(t, l, "x")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := lease.Release(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c.keys("x") != 0 {
			t.Error("not released")
		}
		wantErr(t, context.Cause(lease.Context()), redlock.ErrReleased)
		wantErr(t, lease.Extend(t.Context()), redlock.ErrReleased)
		if err := lease.Release(ctx); err != nil {
			t.Errorf("the second release: %v, want what the first returned", err)
		}
	})
}

func TestLease_ReleaseRemovesOnlyItsOwn(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		rival, _ := c.locker()
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		c.drop("x", 0, 1, 2)
		mustAcquire(t, rival, "x")
		wantErr(t, lease.Release(t.Context()), redlock.ErrLost)
		time.Sleep(time.Second)
		if c.keys("x") != 3 {
			t.Errorf("the rival's lock is on %d nodes", c.keys("x"))
		}
	})
}

func TestLease_ReleaseOfOneThatRanOut(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		lease := mustAcquire(t, l, "x")
		time.Sleep(ttl + time.Millisecond)
		wantErr(t, lease.Release(t.Context()), redlock.ErrExpired)
	})
}

func TestLease_ReleaseWithoutQuorumIsMadeGoodLater(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		process.Hang()
		var err error
		if d := took(func() { err = lease.Release(t.Context()) }); d > nodeTimeout {
			t.Errorf("took %v", d)
		}
		wantErr(t, err, redlock.ErrNoQuorum)
		time.Sleep(3 * time.Second)
		process.Heal()
		time.Sleep(2 * nodeTimeout)
		if c.keys("x") != 0 {
			t.Errorf("still on %d nodes", c.keys("x"))
		}
	})
}

func TestLease_ExtensionRepairsNodesThatLostIt(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		c.drop("x", 3, 4)
		time.Sleep(ttl / 2)
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c.keys("x") != 5 {
			t.Errorf("the lock is on %d nodes", c.keys("x"))
		}
		c.drop("x", 0, 1)
		if err := lease.Extend(t.Context()); err != nil {
			t.Errorf("the repaired nodes do not count: %v", err)
		}

		c.take("y", 4)
		other := mustAcquire(t, l, "y")
		if err := other.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, _ := c.Node(4).Get("{redlock}:lock:y"); got != "1:another:1:someone else" {
			t.Errorf("a repair took another's lock: %s", got)
		}
	})
}

// late delays the scripts with this number of arguments before they are sent.
type late struct{ args int }

func (late) DialHook(next redis.DialHook) redis.DialHook { return next }

func (late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h late) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if len(cmd.Args()) == h.args {
			time.Sleep(nodeTimeout / 2)
		}
		return next(ctx, cmd)
	}
}

// A release must not overtake what sets the lock: it would stay for a TTL.
func TestLease_ReleaseDoesNotOvertake(t *testing.T) {
	for name, test := range map[string]struct {
		args   int // of the script that is late
		extend bool
	}{
		"the grant":  {11, false}, // evalsha, hash, 3, three keys, and five arguments
		"the repair": {12, true},  // one more, the token
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *cluster) {
				links := c.Links()
				options := links.Options(2)
				options.ContextTimeoutEnabled = true
				clients := links.Clients()
				slow := redis.NewClient(options)
				defer slow.Close()
				clients[2] = slow
				l, err := redlock.New(clients, redlock.WithTTL(ttl))
				if err != nil {
					t.Fatal(err)
				}
				warmUp(t, l)
				if !test.extend {
					slow.AddHook(late{test.args})
				}
				lease := mustAcquire(t, l, "x")
				synctest.Wait() // what is late is on its way alone
				if test.extend {
					slow.AddHook(late{test.args})
					c.drop("x", 2)
					if err := lease.Extend(t.Context()); err != nil {
						t.Fatal(err)
					}
					synctest.Wait() // the repair is on its way alone
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(nodeTimeout/2 + 10*time.Millisecond) // it has arrived
				if c.keys("x") != 0 {
					t.Errorf("still on %d nodes", c.keys("x"))
				}
				if err := l.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A grant that arrives after its lease was released must not lock the node for a TTL.
func TestLease_GrantAfterTheReleaseIsRemoved(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		warmUp(t, l)
		process.Delay(60*time.Millisecond, 1)
		process.Hang(2)
		for range 3 {
			lease := mustAcquire(t, l, "x")
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		process.Heal(2)
		time.Sleep(3 * nodeTimeout)
		if c.keys("x") != 0 {
			t.Errorf("still on %d nodes", c.keys("x"))
		}
	})
}

// lost has the acquisitions of a client fail at once, and their requests arrive a while later.
type lost struct{ after time.Duration }

func (lost) DialHook(next redis.DialHook) redis.DialHook { return next }

func (lost) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h lost) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if len(cmd.Args()) != 11 {
			return next(ctx, cmd)
		}
		go func() { // ends with the call, before the bubble
			time.Sleep(h.after)
			_ = next(context.WithoutCancel(ctx), redis.NewCmd(ctx, cmd.Args()...))
		}()
		err := errors.New("connection reset")
		cmd.SetErr(err)
		return err
	}
}

// The first release may be there before the grant, and then finds nothing.
func TestTryAcquire_GrantHeldUpInTheNetworkIsRemoved(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		links := c.Links()
		clients := links.Clients()
		for i := range 2 {
			options := links.Options(i)
			options.ContextTimeoutEnabled = true
			held := redis.NewClient(options)
			defer held.Close()
			held.AddHook(lost{nodeTimeout / 2})
			clients[i] = held
		}
		l, err := redlock.New(clients, redlock.WithTTL(ttl))
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.TryAcquire(t.Context(), "x")
		wantErr(t, err, redlock.ErrNoQuorum)
		time.Sleep(nodeTimeout * 3 / 4)
		if c.keys("x") != 2 {
			t.Errorf("the grants have arrived on %d nodes", c.keys("x"))
		}
		time.Sleep(nodeTimeout / 2)
		if c.keys("x") != 0 {
			t.Errorf("still on %d nodes", c.keys("x"))
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A request that a node finds in its socket when nobody waits for the answer any more does nothing.
func TestTryAcquire_LateRequestSetsNothing(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		warmUp(t, l)
		synctest.Wait()
		process.Hang()
		_, err := l.TryAcquire(t.Context(), "x")
		wantErr(t, err, redlock.ErrNoQuorum)
		time.Sleep(2 * ttl)
		process.Heal()
		time.Sleep(time.Second)
		for i := range 3 {
			if c.Node(i).Exists("{redlock}:fence:x") {
				t.Errorf("node %d has counted a grant", i)
			}
		}
	})
}

func TestLease_AbandonLeavesItToRunOut(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		rival, _ := c.locker()
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		lease.Abandon()
		wantErr(t, context.Cause(lease.Context()), redlock.ErrReleased)
		time.Sleep(time.Until(lease.Deadline()))
		if _, err := rival.TryAcquire(t.Context(), "x"); !errors.Is(err, redlock.ErrHeld) {
			t.Errorf("got %v before the end", err)
		}
		time.Sleep(ttl - validFor + time.Millisecond)
		mustAcquire(t, rival, "x")
	})
}

func TestAutoExtend_HoldsForAsLongAsItIsWanted(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		for i := range 30 { // each node in turn is away until it has lost the lock
			process.Hang(i % 3)
			time.Sleep(2 * ttl)
			process.Heal()
			time.Sleep(ttl)
		}
		if !lease.Valid() {
			t.Error(context.Cause(lease.Context()))
		}
	})
}

func TestAutoExtend_RidesOutAShortOutage(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		time.Sleep(ttl/3 - time.Millisecond)
		process.Hang()
		time.Sleep(ttl / 3)
		process.Heal()
		time.Sleep(10 * ttl)
		if !lease.Valid() {
			t.Error(context.Cause(lease.Context()))
		}
	})
}

func TestAutoExtend_IsBounded(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		start := time.Now()
		lease := mustAcquire(t, l, "x",
			redlock.WithAutoExtend(redlock.Extension{Every: time.Second, Max: 3}))
		<-lease.Context().Done()
		if got := time.Since(start); got != 3*time.Second+validFor {
			t.Errorf("ended after %v", got)
		}

		// While nobody answers, each extension makes its attempts and no more.
		time.Sleep(ttl)
		lease = mustAcquire(t, l, "x",
			redlock.WithAutoExtend(redlock.Extension{Every: 4 * time.Second, Attempts: 5}))
		process.Cut()
		before := c.Node(0).TotalConnectionCount()
		<-lease.Context().Done()
		if got := c.Node(0).TotalConnectionCount() - before; got != 0 {
			t.Errorf("%d connections through a cut link", got)
		}
	})
}

func TestDo_HoldsWhileTheFunctionRuns(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		rival, _ := c.locker()
		oops := errors.New("oops")
		err := l.Do(t.Context(), "x", func(ctx context.Context, lease *redlock.Lease) error {
			time.Sleep(5 * ttl)
			if _, err := rival.TryAcquire(ctx, "x"); !errors.Is(err, redlock.ErrHeld) {
				t.Errorf("a rival got %v", err)
			}
			if !lease.Valid() || ctx.Err() != nil {
				t.Error("not held")
			}
			return oops
		})
		wantErr(t, err, oops)
		synctest.Wait()
		if c.keys("x") != 0 {
			t.Error("not released")
		}
	})
}

func TestDo_ContextEndsWithTheLeaseAndWithTheCaller(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		err := l.Do(t.Context(), "x", func(ctx context.Context, _ *redlock.Lease) error {
			process.Hang()
			<-ctx.Done()
			wantErr(t, context.Cause(ctx), redlock.ErrExpired)
			time.Sleep(ttl)
			process.Heal()
			return nil
		})
		wantErr(t, err, redlock.ErrExpired)

		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, enough)
		defer cancel()
		err = l.Do(ctx, "x", func(ctx context.Context, _ *redlock.Lease) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		wantErr(t, err, enough)
		time.Sleep(nodeTimeout)
		if c.keys("x") != 0 {
			t.Error("not released")
		}
	})
}

func TestDo_PanicReleasesAndGoesOn(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v", got)
			}
			synctest.Wait()
			if c.keys("x") != 0 {
				t.Error("not released")
			}
		}()
		_ = l.Do(t.Context(), "x", func(context.Context, *redlock.Lease) error { panic("boom") })
		t.Error("the panic was swallowed")
	})
}
