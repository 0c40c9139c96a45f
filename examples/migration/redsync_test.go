package migration

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4"
	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRedsyncAfter_TakesTheLockAndGivesItBack(t *testing.T) {
	bubble(t, 30*time.Second, func(t *testing.T, nodes *redlocktest.Nodes) {
		mine, others := locker(t, nodes), locker(t, nodes)
		err := redsyncAfter(t.Context(), mine, func(ctx context.Context) error {
			time.Sleep(5 * time.Minute) // ten leases
			if _, err := others.TryAcquire(ctx, "import"); !errors.Is(err, redlock.ErrHeld) {
				t.Errorf("another process got: %v", err)
			}
			return ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := others.Holder(t.Context(), "import"); !errors.Is(err, redlock.ErrVacant) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestRedsyncBefore_DoesNotExcludeAfter(t *testing.T) {
	bubble(t, 30*time.Second, func(t *testing.T, nodes *redlocktest.Nodes) {
		both := false
		err := redsyncBefore(t.Context(), redsyncNewBefore(nodes.Process().Clients()), func(ctx context.Context) error {
			return redsyncAfter(ctx, locker(t, nodes), func(context.Context) error {
				both = true
				return nil
			})
		})
		if err != nil || !both {
			t.Errorf("both at work: %v, %v", both, err)
		}
	})
}

func TestRedsyncBetween_ExcludesBeforeAndAfter(t *testing.T) {
	bubble(t, 30*time.Second, func(t *testing.T, nodes *redlocktest.Nodes) {
		p := nodes.Process()
		before, after := redsyncNewBefore(nodes.Process().Clients()), locker(t, nodes)
		took := func(ctx context.Context) (old, later error) {
			nothing := func(context.Context) error { return nil }
			brief, cancel := context.WithTimeout(ctx, time.Second)
			old = redsyncBefore(brief, before, nothing)
			cancel()
			brief, cancel = context.WithTimeout(ctx, time.Second)
			defer cancel()
			return old, redsyncAfter(brief, after, nothing)
		}
		err := redsyncBetween(t.Context(), redsyncNewBefore(p.Clients()), p.Locker(), func(ctx context.Context) error {
			old, later := took(ctx)
			if !errors.Is(old, redsync.ErrFailed) || !errors.Is(later, redlock.ErrHeld) {
				t.Errorf("meanwhile: %v; %v", old, later)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if old, later := took(t.Context()); old != nil || later != nil {
			t.Errorf("afterwards: %v; %v", old, later)
		}
	})
}

// bubble gives test three nodes, in virtual time.
func bubble(t *testing.T, ttl time.Duration, test func(*testing.T, *redlocktest.Nodes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, redlocktest.New(t, 3, redlock.WithTTL(ttl)))
	})
}

// locker returns the Locker of another process.
func locker(t *testing.T, nodes *redlocktest.Nodes) *redlock.Locker {
	t.Helper()
	l, err := redsyncNewAfter(nodes.Process().Clients())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return l
}
