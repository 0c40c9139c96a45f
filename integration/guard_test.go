//go:build unix

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

// persist has a server lose nothing that it has answered.
var persist = []string{"--appendonly", "yes", "--appendfsync", "always"}

// forgetting are the ways in which a server may come to grant what it has granted before.
var forgetting = map[string]func(context.Context, *redisproc.Node) error{
	"restarted empty": func(ctx context.Context, n *redisproc.Node) error {
		return errors.Join(n.Kill(), n.RestartEmpty(ctx))
	},
	"restarted with an older file": func(ctx context.Context, n *redisproc.Node) error {
		return errors.Join(n.Kill(), n.RestartFromBackup(ctx))
	},
	"restarted with its file": func(ctx context.Context, n *redisproc.Node) error {
		return errors.Join(n.Kill(), n.Restart(ctx))
	},
	"flushed": func(ctx context.Context, n *redisproc.Node) error {
		server := redis.NewClient(&redis.Options{Addr: n.Addr()})
		return errors.Join(server.FlushAll(ctx).Err(), server.Close())
	},
}

// The holder's lease stands on a bare majority of three, so that any one of these which forgot it
// would grant it anew.
func TestGuard_NodesThatMayHaveForgottenALeaseGrantNothingWhileItLasts(t *testing.T) {
	t.Parallel()
	cases := beside{t: t}
	defer cases.Wait()
	for how, forget := range forgetting {
		for _, hit := range []int{1, 3} {
			cases.run(fmt.Sprintf("%d of 3 %s", hit, how), func(t *testing.T) { forgetLease(t, forget, hit) })
		}
	}
}

func forgetLease(t *testing.T, forget func(context.Context, *redisproc.Node) error, hit int) {
	const ttl = 2 * time.Second
	options := []redlock.Option{redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl / 4)}
	nodes := startServers(t, 3, persist...)
	link, err := nodes.Node(2).Proxy()
	if err != nil {
		t.Fatal(err)
	}
	holder := lockerOn(t,
		clients(t, nodes.Node(0).Addr(), nodes.Node(1).Addr(), link.Addr()), options...)
	release(t, acquire(t, holder, "y"))
	for i := range 3 {
		poll(t, fmt.Sprintf("end of the guard of node %d, which was new", i), func() bool {
			return holder.Nodes(t.Context())[i].Guard == 0
		})
		if err := nodes.Node(i).Backup(); err != nil {
			t.Fatal(err)
		}
	}
	link.Refuse()
	held := acquire(t, holder, "x")

	var restarts sync.WaitGroup
	for i := range hit {
		restarts.Go(func() {
			if err := forget(t.Context(), nodes.Node(i)); err != nil {
				t.Error(err)
			}
		})
	}
	restarts.Wait()

	rival := lockerOn(t, clients(t, nodes.Addrs()...), options...)
	_, err = rival.TryAcquire(t.Context(), "x")
	told := errors.Is(err, redlock.ErrGuarded) && strings.Contains(err.Error(), "nothing for another")
	if !told {
		t.Errorf("got %v, want %v and for how long", err, redlock.ErrGuarded)
	}
	for i, n := range rival.Nodes(t.Context()) {
		if guarded := i < hit; n.Err != nil || n.Guard > ttl || n.Guard > 0 != guarded {
			t.Errorf("node %d: guard %v, %v, want one of at most %v: %v", i, n.Guard, n.Err, ttl, guarded)
		}
	}

	next := acquire(t, rival, "x")
	if early := time.Until(held.Deadline()); early > 0 {
		t.Errorf("there was a second holder %v before the end of the first lease", early)
	}
	if next.Token() <= held.Token() {
		t.Errorf("token %d came after %d", next.Token(), held.Token())
	}
	servers := admins(t, nodes.Addrs())
	for i := range hit {
		poll(t, fmt.Sprintf("end of the guard of node %d", i), func() bool {
			return rival.Nodes(t.Context())[i].Guard == 0
		})
	}
	acquire(t, rival, "y")
	for i := range hit {
		poll(t, fmt.Sprintf("grant by node %d", i), func() bool { return locked(t, servers[i], "y") })
	}
}

func TestGuard_RollingRestartOfEmptyNodesCostsNoLease(t *testing.T) {
	t.Parallel()
	const ttl = 10 * time.Second // shorter, and a machine that stalls costs the lease by itself
	var repaired [3]atomic.Int32
	nodes := startServers(t, 3)
	l := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl),
		redlock.WithNodeTimeout(ttl/10), redlock.WithHooks(redlock.Hooks{
			Repaired: func(node, _ string) { repaired[slices.Index(nodes.Addrs(), node)].Add(1) },
		}))
	lease := acquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{Every: ttl / 6}))
	servers := admins(t, nodes.Addrs())
	onAll := func() bool {
		for _, server := range servers {
			if !locked(t, server, "x") {
				return false
			}
		}
		return true
	}
	poll(t, "lease on all nodes", onAll)

	for i := range repaired {
		before := repaired[i].Load()
		restarted := time.Now()
		if err := errors.Join(nodes.Node(i).Kill(), nodes.Node(i).RestartEmpty(t.Context())); err != nil {
			t.Fatal(err)
		}
		poll(t, fmt.Sprintf("lease on node %d again", i), onAll)
		if took := time.Since(restarted); took < ttl {
			t.Errorf("node %d took the lease back after %v, it was to be guarded for %v", i, took, ttl)
		}
		// The lease is there before the answer that says so.
		poll(t, fmt.Sprintf("hook for node %d", i), func() bool { return repaired[i].Load() > before })
	}
	if !lease.Valid() {
		t.Errorf("the lease was lost: %v", context.Cause(lease.Context()))
	}
}
