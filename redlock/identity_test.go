package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// An address may lead to another server from one connection to the next, without a failed call: behind a DNS record
// that changes, a reused IP address or a load balancer.
func TestTryAcquire_ThroughTwoAddressesOfOneServer(t *testing.T) {
	for _, opts := range [][]redlock.Option{nil, {redlock.WithoutRestartGuard()}} {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			l, process := c.Locker()
			other, otherProcess := c.Locker()
			warmUp(t, other)
			process.Cut(1)
			lease := mustAcquire(t, l, "x") // on nodes 0 and 2
			synctest.Wait()
			otherProcess.Lead(0, 1)
			for range 3 {
				_, err := other.TryAcquire(t.Context(), "x")
				want.Err(t, err, redlock.ErrNoQuorum)
				want.Text(t, err, "it is the same server as "+c.Addrs()[0], "held by")
				synctest.Wait() // the leftover of that attempt is removed
			}
			if !lease.Valid() {
				t.Error("lost")
			}
			fresh, freshProcess := c.Locker()
			freshProcess.Lead(0, 1)
			warmUp(t, fresh)
			synctest.Wait() // it has inspected all nodes
			for _, l := range []*redlock.Locker{other, fresh} {
				unfit := slices.DeleteFunc(l.Nodes(t.Context()), func(n redlock.NodeStatus) bool { return n.Err == nil })
				if len(unfit) != 1 || !strings.Contains(unfit[0].Err.Error(), "it is the same server as ") {
					t.Errorf("unfit: %+v, want one of the two addresses", unfit)
				}
			}
		}, opts...)
	}
}

// detour is a hook of a client whose address leads to another server from the second command of each pipeline on.
type detour struct {
	other redis.UniversalClient
	times atomic.Int64
}

func (h *detour) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *detour) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *detour) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !strings.HasPrefix(cmds[0].Name(), "eval") { // the connection is set up
			return next(ctx, cmds)
		}
		if err := next(ctx, cmds[:1]); err != nil {
			return err
		}
		for _, cmd := range cmds[1:] {
			h.times.Add(1)
			_ = h.other.Process(ctx, cmd) // cmd has the error, too
		}
		return nil
	}
}

// One process reaches server 1 through two addresses, now and then. Its two answers are one vote, so nobody has a lock that
// somebody else has.
func TestTryAcquire_WhereTheServerChangesWithinAPipeline(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		links := c.Links()
		clients := links.Clients()
		options := links.Options(0)
		options.ContextTimeoutEnabled = true // otherwise the Locker uses a copy of the client, which has no hooks
		clients[0] = redis.NewClient(options)
		t.Cleanup(func() { _ = clients[0].Close() })
		hook := &detour{other: c.Links().Clients()[1]}
		clients[0].AddHook(hook)
		links.Delay(time.Millisecond, 0)   // so calls share pipelines
		links.Delay(4*time.Millisecond, 2) // so others get node 2
		behind, err := redlock.New(clients)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = behind.Close(context.Background()) })
		direct, _ := c.Locker()
		var won [2]atomic.Int64
		var tries sync.WaitGroup
		for lock := range 10 {
			var holders atomic.Int64
			for who, l := range []*redlock.Locker{behind, direct} {
				tries.Go(func() {
					for range 40 {
						time.Sleep(rand.N(5 * time.Millisecond))
						lease, err := l.TryAcquire(t.Context(), fmt.Sprint(lock))
						if err != nil {
							continue
						}
						won[who].Add(1)
						if holders.Add(1) > 1 {
							t.Errorf("lock %d has two holders", lock)
						}
						time.Sleep(rand.N(5 * time.Millisecond))
						holders.Add(-1)
						_ = lease.Release(t.Context())
					}
				})
			}
		}
		tries.Wait()
		if hook.times.Load() < 20 || won[0].Load() < 20 || won[1].Load() < 20 {
			t.Errorf("too few to show anything: %d detours, %d and %d leases", hook.times.Load(), won[0].Load(), won[1].Load())
		}
	})
}

// A server that restarted with its data has the guard of its earlier run until somebody acquires something there. Here that
// happens while one extension asks the server through two addresses.
func TestExtend_ByOneServerThatChangesItsGuardInBetween(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		process, slow := c.Links(), c.Links() // two processes in one, so that only one address is slow
		clients := process.Clients()
		clients[1] = slow.Clients()[1]
		l, err := redlock.New(clients)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Heal(); _ = l.Close(context.Background()) })
		other, _ := c.Locker()
		warmUp(t, l)
		warmUp(t, other)
		process.Cut(2)
		lease := mustAcquire(t, l, "x") // on nodes 0 and 1
		c.Restart(1)
		process.Lead(0, 1)
		l.Nodes(t.Context()) // connects again
		slow.Delay(20*time.Millisecond, 1)
		extended := make(chan error, 1)
		go func() { extended <- lease.Extend(t.Context()) }()
		time.Sleep(10 * time.Millisecond)
		_, _ = other.TryAcquire(t.Context(), "y") // starts a guard on node 1
		err = <-extended
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "1 of 3 nodes", "it is the same server as "+c.Addrs()[0])
	})
}

// The node's clock may have been set back since it granted the lock, so that it still holds a lease that has expired
// elsewhere.
func TestExtend_ByANodeThatAnswersForTheFirstTimeDoesNotCount(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		warmUp(t, l)
		process.DropReplies(2)
		lease := mustAcquire(t, l, "x") // also on node 2, whose answer nobody has received
		synctest.Wait()
		process.Heal()
		process.Hang(1)
		err := lease.Extend(t.Context())
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "its first answer about this lease")
		if err := lease.Extend(t.Context()); err != nil {
			t.Errorf("when its clock is known: %v", err)
		}
	})
}
