package quorum_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// counted is a connection that counts as open until it is closed.
type counted struct {
	net.Conn
	closed atomic.Bool
	open   *atomic.Int32
}

func (c *counted) Close() error {
	if !c.closed.Swap(true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// counts makes a dialer whose open connections are counted.
func counts(open *atomic.Int32) func(dialer) dialer {
	return func(next dialer) dialer {
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := next(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			open.Add(1)
			return &counted{Conn: conn, open: open}, nil
		}
	}
}

// go-redis leaves connections open whose setup fails. A node that hangs, or refuses the password, has no more of them with
// each call.
func TestNode_WhoseSetupFailsHasNoConnections(t *testing.T) {
	for name, answers := range map[string]bool{"hangs": false, "refuses": true} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
				var open atomic.Int32
				o := c.Links().Options(0)
				o.Dialer, o.Password = counts(&open)(o.Dialer), "wrong"
				q := startOn(c, redis.NewClient(o), fit)
				if answers {
					c.SetPreHook(0, func(p *server.Peer, cmd string, _ ...string) bool {
						if cmd == "HELLO" || cmd == "AUTH" {
							p.WriteError("WRONGPASS invalid username-password pair or user is disabled.")
						}
						return cmd == "HELLO" || cmd == "AUTH"
					})
				} else {
					c.Hang()
				}
				for range 10 {
					if a := askUntilOver(t, q); a.Err == nil {
						t.Error("it answers")
					}
				}
				if n := open.Load(); n > 0 {
					t.Errorf("%d connections are open", n)
				}
			})
		})
	}
}

// The same goes for connections that are dialed for looks.
func TestNode_LooksWhoseSetupFailsLeaveNoConnections(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		var open, setups atomic.Int32
		c.SetPreHook(0, func(p *server.Peer, cmd string, _ ...string) bool {
			if cmd != "HELLO" || setups.Add(1) == 1 {
				return false
			}
			p.WriteError("ERR max number of clients reached")
			return true
		})
		q, looks := startLooking(c, func(next dialer) dialer {
			return counts(&open)(func(ctx context.Context, network, addr string) (net.Conn, error) {
				if setups.Load() > 0 {
					c.Hang()
				}
				return next(ctx, network, addr)
			})
		})
		_, _ = askNode(t, q, counting())
		time.Sleep(time.Second)
		if n := open.Load(); n != 1 || looks.Load() > 0 {
			t.Errorf("%d connections are open, and %d looks answered, want the node's own", n, looks.Load())
		}
		c.Heal()
	})
}
