package redlock_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// The work under an abandoned lease may still run, so nobody else may get the lock before the deadline.
func TestAbandon_IsNotUndoneByWhatFollows(t *testing.T) {
	for name, hold := range map[string]func(ctx context.Context, l *redlock.Locker) (until time.Time, err error){
		"Release": func(ctx context.Context, l *redlock.Locker) (time.Time, error) {
			lease, err := l.TryAcquire(ctx, "x")
			if err != nil {
				return time.Time{}, err
			}
			lease.Abandon()
			want.Err(t, lease.Release(ctx), redlock.ErrReleased)
			return lease.Deadline(), nil
		},
		"Do": func(ctx context.Context, l *redlock.Locker) (until time.Time, err error) {
			err = l.Do(ctx, "x", func(_ context.Context, lease *redlock.Lease) error {
				lease.Abandon()
				until = lease.Deadline()
				return nil
			})
			return until, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				l, _ := c.Locker()
				rival, _ := c.Locker()
				until, err := hold(t.Context(), l)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if on(c, "x") != 3 {
					t.Errorf("on %d nodes, want it to run out on all", on(c, "x"))
				}
				if _, err := rival.Acquire(t.Context(), "x"); err != nil || time.Now().Before(until) {
					t.Errorf("the next one has it %v before the deadline: %v", time.Until(until), err)
				}
			})
		})
	}
}

func TestDo_ReturnsTheErrorOfItsFunctionAsItIs(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		for _, own := range []error{nil, io.EOF} {
			err := l.Do(t.Context(), "x", func(context.Context, *redlock.Lease) error { return own })
			if !reflect.DeepEqual(err, own) {
				t.Errorf("got %#v, want %#v", err, own)
			}
		}
		err := l.Do(t.Context(), "x", func(context.Context, *redlock.Lease) error {
			process.Cut()
			return io.EOF
		})
		if !errors.Is(err, io.EOF) || !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("got %v, want both errors", err)
		}
	})
}

// The connections break after the nodes have freed the lock, so the release is sent again and finds the next holder.
func TestRelease_WhoseReplyWasLost(t *testing.T) {
	const way = 5 * time.Millisecond
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		waiter, _ := c.Locker()
		warmUp(t, l)
		warmUp(t, waiter)
		lease := mustAcquire(t, l, "x")
		var waiting sync.WaitGroup
		var next *redlock.Lease
		waiting.Go(func() {
			var err error
			if next, err = waiter.Acquire(t.Context(), "x"); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)

		process.Delay(way)
		process.DropReplies()
		time.AfterFunc(2*way+time.Millisecond, func() {
			process.Heal()
			process.Delay(way)
		})
		before := c.Asked()
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("got %v, want nil: it was held until then", err)
		}
		waiting.Wait()
		synctest.Wait() // the next holder has its lease of two nodes, and the third is being asked
		if asked := c.Asked() - before; !next.Valid() || asked < 3+3+3 {
			t.Errorf("the next lease is valid: %v; %d requests, want two releases and a grant on each node",
				next.Valid(), asked)
		}
	})
}

// A repair does nothing if a hung node reads it after the caller has stopped waiting.
func TestRepair_ThatIsLateSetsNothing(t *testing.T) {
	const way = 10 * time.Millisecond
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		warmUp(t, l)
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		drop(c, "x", 2)
		process.Delay(way)
		time.AfterFunc(2*way+way/2, func() { process.Hang(2) }) // the repair is under way
		before := c.Requests(2)
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * ttl)
		if asked := c.Requests(2) - before; asked != 2 {
			t.Fatalf("node 2 was sent %d requests, want an extension and a repair", asked)
		}
		process.Heal()
		synctest.Wait()
		if on(c, "x") != 0 {
			t.Error("node 2 has the lock, which nobody holds")
		}
	})
}

// A node that refuses every release is asked a few times a second, however many holds of one lock are left on it.
func TestRelease_ANodeThatRefusesAllIsAskedLittle(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		var asked atomic.Int64
		c.SetPreHook(0, func(p *server.Peer, cmd string, _ ...string) bool {
			refused := strings.EqualFold(cmd, "EVALSHA")
			if refused {
				asked.Add(1)
				p.WriteError("ERR no")
			}
			return refused
		})
		want.NoError(t, lease.Release(t.Context()))
		for range 100 {
			acquireAndRelease(t, l, "x")
		}
		before := asked.Load()
		time.Sleep(5 * time.Second)
		if n := asked.Load() - before; n > 100 {
			t.Errorf("%d calls in 5 s", n)
		}
		c.SetPreHook(0, nil)
		time.Sleep(time.Second)
		if on(c, "x") != 0 {
			t.Error("the node works, and still has the lock")
		}
	})
}
