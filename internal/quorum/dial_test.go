package quorum_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// Dialing takes longer than the node timeout, as with a name server that does not answer before another one is asked. The first calls
// fail, unsent, and then the node is used.
func TestDial_SlowerThanTheTimeout(t *testing.T) {
	for name, of := range map[string]struct {
		takes, every time.Duration
		failures     int
	}{
		"one and a half of it":                 {300 * time.Millisecond, 0, 1},
		"four and a half of it":                {900 * time.Millisecond, 0, 4},
		"longer than its client dials":         {6 * time.Second, 0, 100},
		"and nobody asks for long":             {time.Second, 10 * time.Second, 100},
		"and the next call is some time later": {time.Second, 3 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
				o, open := c.Links().Options(0), new(atomic.Int32)
				dial := counts(open)(o.Dialer)
				o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					select {
					case <-time.After(of.takes):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					return dial(ctx, network, addr)
				}
				q := startOn(c, redis.NewClient(o), fit)
				failures := 0
				for failures < of.failures {
					a, err := askNode(t, q, counting())
					if err == nil && a.Err == nil {
						break
					}
					failures++
					time.Sleep(of.every)
				}
				if a, err := askNode(t, q, counting()); of.failures < 100 && (failures != of.failures || err != nil || a.Err != nil) {
					t.Errorf("%d calls failed, want %d; then %v, %v", failures, of.failures, a.Err, err)
				}
				time.Sleep(10 * time.Second)
				if n := open.Load(); n > 1 {
					t.Errorf("%d connections are open", n)
				}
			})
		})
	}
}

// A dial that has begun while the network was down does not hold up later ones.
func TestDial_AfterADialThatHangs(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		o, hangs := c.Links().Options(0), atomic.Bool{}
		dial := o.Dialer
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if hangs.Load() {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return dial(ctx, network, addr)
		}
		q := startOn(c, redis.NewClient(o), fit)
		hangs.Store(true)
		if a, err := askNode(t, q, counting()); err == nil && a.Err == nil {
			t.Error("it answered")
		}
		hangs.Store(false)
		if a, err := askNode(t, q, counting()); err != nil || a.Err != nil {
			t.Errorf("%v, %v", a.Err, err)
		}
	})
}
