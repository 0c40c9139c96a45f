//go:build unix

package integration_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Without INFO a script does not see that its server was restarted.
func TestNodesThatDoNotPermitInfo_AreRefusedUnlessTheCallerAcceptsThem(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	servers := admins(t, nodes.Addrs())
	for i, server := range servers {
		setUser(t, server, "unseeing", without(rights(t), "+info"))
		setUser(t, server, "mostly", rights(t))
		if i == 0 {
			setUser(t, server, "mostly", without(rights(t), "+info"))
		}
	}
	reason := []string{"scripts may not call INFO", "WithUnseenRestarts"}
	const reported = "inspect: scripts may not call INFO"

	t.Run("all are refused", func(t *testing.T) {
		var hook complaints
		l := lockerAs(t, "unseeing", "pw", nodes, hook.option())
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		defer cancel()
		_, tried := l.TryAcquire(ctx, "x")
		_, waited := l.Acquire(ctx, "x")
		for _, err := range []error{tried, waited} {
			want.Err(t, err, redlock.ErrConfig)
			want.Text(t, err, reason...)
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it waited and got nothing: %v", err)
			}
		}
		for _, n := range l.Nodes(t.Context()) {
			want.Text(t, n.Err, reason...)
		}
		wantReported(t, &hook, reported, reported, reported)
		if on := records.Default.On(t, "x", servers...); on > 0 {
			t.Errorf("%d nodes have the lock", on)
		}
	})

	t.Run("a minority is refused", func(t *testing.T) {
		var hook complaints
		l := lockerAs(t, "mostly", "pw", nodes, hook.option())
		lease := acquire(t, l, "x")
		poll(t, "lease on the others", func() bool { return records.Default.On(t, "x", servers...) == 2 })
		if records.Default.Holder(t, "x", servers[0]) != "" {
			t.Error("the lease is on the node that was refused")
		}
		release(t, lease)
		wantReported(t, &hook, reported)
	})

	t.Run("accepted", func(t *testing.T) {
		var hook complaints
		l := lockerAs(t, "unseeing", "pw", nodes, redlock.WithUnseenRestarts(), hook.option())
		lease := acquire(t, l, "x")
		poll(t, "lease on all nodes", func() bool { return records.Default.On(t, "x", servers...) == 3 })
		must(t, lease.Extend(t.Context()))
		release(t, lease)
		const unchecked = "inspect: INFO is not permitted .*: role, eviction and version are not checked, " +
			"and a restart is detected only if the data is gone"
		for _, n := range l.Nodes(t.Context()) {
			if n.Err != nil || n.Role != "" || n.Version != "" || n.Guard > 0 {
				t.Errorf("the node is %+v", n)
			}
		}
		wantReported(t, &hook, unchecked, unchecked, unchecked)

		// A loss of data is still detected.
		for _, server := range servers {
			must(t, server.FlushAll(t.Context()).Err())
		}
		_, err := l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrGuarded)
	})
}

// A node comes back with older data, as after a failover that lost the newest writes. If scripts cannot see its
// restarts, it grants a lock that is held, even with the token of the holder. So such nodes are refused unless the user
// accepts that.
func TestUnseenRestarts_MayGrantALockTwiceWithOneToken(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1)
	server := admins(t, nodes.Addrs())[0]
	setUser(t, server, "unseeing", without(rights(t), "+info"))
	first := lockerAs(t, "unseeing", "pw", nodes, redlock.WithUnseenRestarts())
	second := lockerAs(t, "unseeing", "pw", nodes, redlock.WithUnseenRestarts())
	refused := lockerAs(t, "unseeing", "pw", nodes)

	release(t, acquire(t, first, "x")) // the guard is over, and there is a number
	older, err := server.Dump(t.Context(), records.Default.Hash()).Result()
	must(t, err)
	lease := acquire(t, first, "x")
	must(t, server.RestoreReplace(t.Context(), records.Default.Hash(), 0, older).Err())

	_, err = refused.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrConfig)
	want.Text(t, err, "scripts may not call INFO")
	other, err := second.TryAcquire(t.Context(), "x")
	if err != nil {
		t.Fatalf("the lock is not granted twice, and the documents say that it may be: %v", err)
	}
	if !lease.Valid() || other.Token() != lease.Token() {
		t.Errorf("the first holder is valid, %v, with token %d; the second one has %d", lease.Valid(), lease.Token(), other.Token())
	}
	lease.Abandon()
	release(t, other)
}
