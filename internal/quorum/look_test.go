package quorum_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// startLooking makes a Quorum of one node whose client dials as dial does, and counts the answers to looks.
func startLooking(c *bubble.Cluster, dial func(next dialer) dialer) (q *quorum.Quorum, looks *atomic.Int32) {
	o, looks := c.Links().Options(0), new(atomic.Int32)
	o.Dialer = dial(o.Dialer)
	client := redis.NewClient(o)
	c.T.Cleanup(func() { _ = client.Close() })
	config := config()
	config.Inspection = quorum.NewInspection(inspecting.Call(nil), fit, func(_ int, a quorum.Answer[string]) bool {
		if a.Err == nil {
			looks.Add(1)
		}
		return false
	})
	q = quorum.New([]redis.UniversalClient{client}, c.Addrs(), config)
	c.T.Cleanup(func() { _ = q.Close(context.Background()) })
	return q, looks
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

func plain(next dialer) dialer { return next }

// A node is looked at more and more rarely, and by nobody who is not asked for anything.
func TestNode_IsLookedAtMoreAndMoreRarely(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		q, looks := startLooking(c, plain)
		for _, w := range []struct {
			asked    time.Duration
			min, max int32
		}{{0, 6, 6}, {10 * time.Second, 1, 3}, {time.Hour, 8, 26}} {
			before := looks.Load()
			for began := time.Now(); time.Since(began) <= w.asked; time.Sleep(time.Second) {
				if a, err := askNode(t, q, counting()); err != nil || a.Err != nil {
					t.Fatal(a, err)
				}
			}
			if n := looks.Load() - before; n < w.min || n > w.max {
				t.Errorf("looked %d times in %v, want %d to %d", n, w.asked, w.min, w.max)
			}
		}
	})
}

// A dial that took long, as on a machine that starts much else, does not make the node a far one, whose looks would fail.
func TestNode_IsNearAlsoIfTheFirstDialTookLong(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		var dialed atomic.Bool
		q, looks := startLooking(c, func(next dialer) dialer {
			return func(ctx context.Context, network, addr string) (net.Conn, error) {
				if dialed.CompareAndSwap(false, true) {
					time.Sleep(config().Timeout / 3)
				}
				return next(ctx, network, addr)
			}
		})
		if a, err := askNode(t, q, counting()); err != nil || a.Err != nil || looks.Load() == 0 {
			t.Errorf("%+v, %v, %d looks answered", a, err, looks.Load())
		}
	})
}

// Where nothing can be dialed any more, the connection that is open goes on, and Close does not wait for what is dialed.
func TestNode_WhoseLooksHangStillAnswers(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		var dialed atomic.Int32
		end := make(chan struct{})
		q, looks := startLooking(c, func(next dialer) dialer {
			return func(ctx context.Context, network, addr string) (net.Conn, error) {
				if dialed.Add(1) > 1 {
					<-end // it does not look at ctx, as go-redis's own does not with TLS
				}
				return next(ctx, network, addr)
			}
		})
		for range 100 {
			if a, err := askNode(t, q, counting()); err != nil || a.Err != nil {
				t.Fatal(a, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if dialed.Load() < 2 || looks.Load() > 0 {
			t.Errorf("dialed %d times, %d looks answered", dialed.Load(), looks.Load())
		}
		began := time.Now()
		if err := q.Close(context.Background()); err != nil || time.Since(began) > 0 {
			t.Errorf("closed after %v: %v", time.Since(began), err)
		}
		close(end)
		synctest.Wait()
	})
}

// Answers of a server that was not inspected do not count.
func TestNode_AnswersOfAnotherServerDoNotCount(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		q, _ := startLooking(c, plain)
		other := quorum.NewScript("other", `return '1 1 b y1'`, func(*quorum.Reply) (int64, error) { return 0, nil })
		a, err := askNode(t, q, other.Command(1, nil, "n").Call(one{}))
		if err != nil || !errors.Is(a.Err, quorum.ErrPerhapsDone) {
			t.Errorf("%+v, %v, want that it is perhaps done", a, err)
		}
	})
}
