package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var lifecycleCases = []Case{
	{
		Name:  "A lock is set, extended and removed on all nodes, and is free after its release",
		Sizes: []int{1, 3, 7}, Run: lifecycle, Server: clocks,
	},
	{Name: "Locks with different names, prefixes or databases are independent", Run: otherLocks, Server: language},
	{Name: "Do extends the lease while its function runs, and releases it afterwards", Run: do},
	{Name: "Do releases the lock when the lease, the caller or a panic ends its function", Run: doEnds},
}

// redsync TestMutex, TestMutexAlreadyLocked, TestMutexExtend; redislock TestClient, TestObtain_metadata;
// node-redlock "acquires, extends, and releases a multi-client lock"; Redisson testTokenIncrease;
// ShedLock shouldBeAbleToLockRightAfterUnlock.
func lifecycle(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	p.warm(t)
	rival.warm(t)
	began := time.Now()
	lease := w.takeAll(t, p, "x", redlock.WithValue("pod-1"))
	if !lease.Valid() || lease.Name() != "x" || lease.Token() == 0 || lease.Context().Err() != nil {
		t.Errorf("valid %v, name %q, token %d", lease.Valid(), lease.Name(), lease.Token())
	}
	if !lease.Deadline().Before(time.Now().Add(TTL)) || lease.Deadline().Before(began) {
		t.Errorf("valid for %v of a TTL of %v", time.Until(lease.Deadline()), TTL)
	}
	value := w.holder(t, "x", 0)
	for i := range w.Size() {
		if got := w.holder(t, "x", i); got != value {
			t.Errorf("node %d has %q, node 0 has %q", i, got, value)
		}
	}
	holder, err := rival.Holder(t.Context(), "x")
	if err != nil || holder.Value != "pod-1" || holder.Token != lease.Token() {
		t.Errorf("the holder is %+v, %v", holder, err)
	}

	w.Takes(t, "being refused", 0, func() { _, err = rival.TryAcquire(t.Context(), "x") })
	want.Err(t, err, redlock.ErrHeld)
	need := len(w.majority())
	want.Text(t, err, `acquire "x"`, `held by "pod-1" for `, fmt.Sprintf("0 of %d nodes, %d needed", w.Size(), need))
	var q *redlock.QuorumError
	if !errors.As(err, &q) || q.Need != need || q.Got != 0 || len(q.Nodes) < need ||
		!slices.Contains(rival.nodes, q.Nodes[0].Addr) {
		t.Errorf("got %+v", q)
	}

	w.records().Shorten(t, "x", TTL/2, w.raw(w.all())...)
	if err := lease.Extend(t.Context()); err != nil {
		t.Error(err)
	}
	w.Await(t, "extension of all nodes", settled, func() bool {
		for i := range w.Size() {
			if w.records().Left(t, "x", w.Raw(i)) <= TTL/2 {
				return false
			}
		}
		return true
	})

	release(t, lease)
	w.left(t, 0, "x")
	next, err := rival.TryAcquire(t.Context(), "x")
	want.NoError(t, err)
	if next.Token() <= lease.Token() {
		t.Errorf("token %d after %d", next.Token(), lease.Token())
	}
	if _, err := p.TryAcquire(t.Context(), "x"); !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("got %v while it is held again", err)
	}
}

// ShedLock shouldCreateTwoIndependentLocks; RedLock.net TestKeyFormat, TestNonDefaultRedisDatabases.
func otherLocks(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "x")
	for what, other := range map[string]*redlock.Lease{
		"name":   p.take(t, "y"),
		"prefix": w.Process(t, redlock.WithKeyPrefix(w.Prefix+".2"), redlock.WithoutRestartGuard()).take(t, "x"),
		"database": w.ProcessWith(t, func(o *redis.Options) { o.DB = 1 },
			redlock.WithoutRestartGuard()).take(t, "x"),
	} {
		if !other.Valid() || !lease.Valid() {
			t.Errorf("of another %s: valid %v beside %v", what, other.Valid(), lease.Valid())
		}
		release(t, other)
	}
	if err := lease.Extend(t.Context()); err != nil {
		t.Error(err)
	}
}

// node-redlock "acquires, extends, and releases" and "is exclusive" of using; Pottery
// test_context_manager.
func do(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	wrong := errors.New("wrong")
	err := p.Do(t.Context(), "x", func(ctx context.Context, lease *redlock.Lease) error {
		until := lease.Deadline()
		if _, err := rival.TryAcquire(ctx, "x"); !errors.Is(err, redlock.ErrHeld) {
			t.Errorf("somebody else: %v", err)
		}
		w.Await(t, "extension", 4*time.Second, func() bool { return lease.Deadline().After(until) })
		if ctx.Err() != nil || !lease.Valid() {
			t.Error("the lease is over")
		}
		return wrong
	}, redlock.WithLeaseTTL(6*time.Second), redlock.WithAutoExtend(redlock.Extension{Every: 2 * time.Second}))
	if !errors.Is(err, wrong) || errors.Is(err, redlock.ErrExpired) {
		t.Errorf("got %v, want what the function returned", err)
	}
	w.left(t, 0, "x")
	if _, err := rival.TryAcquire(t.Context(), "x"); err != nil {
		t.Error(err)
	}
}

func doEnds(t *testing.T, w *World) {
	p := w.Process(t)
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), NodeTimeout, enough)
	defer cancel()
	err := p.Do(ctx, "x", func(ctx context.Context, _ *redlock.Lease) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	want.Err(t, err, enough)
	w.left(t, 0, "x")

	err = p.Do(t.Context(), "x", func(ctx context.Context, _ *redlock.Lease) error {
		p.Hang()
		<-ctx.Done()
		want.Err(t, context.Cause(ctx), redlock.ErrExpired)
		w.left(t, 0, "x")
		p.Heal()
		return nil
	}, extending(4*time.Second)...)
	want.Err(t, err, redlock.ErrExpired)

	defer func() {
		if got := recover(); got != "boom" {
			t.Errorf("recovered %v, want boom", got)
		}
		w.left(t, 0, "x")
	}()
	_ = p.Do(t.Context(), "x", func(context.Context, *redlock.Lease) error { panic("boom") })
}
