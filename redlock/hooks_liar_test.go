package redlock_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/redlock"
)

// A node whose errors differ each time does not control how often the hooks are called, and so how much is logged.
func TestHooks_TellOfOneNodeAtAPace(t *testing.T) {
	for how, answer := range map[string]func(p *server.Peer, cmd string) bool{
		"other words each time": func(p *server.Peer, cmd string) bool {
			if cmd != "EVALSHA" {
				return false
			}
			word := make([]byte, 12)
			for i := range word {
				word[i] = byte('a' + rand.N(26))
			}
			p.WriteError("ERR " + string(word))
			return true
		},
		"another time each time": func(p *server.Peer, cmd string) bool {
			if cmd != "TIME" {
				return false
			}
			at := time.Now().Add(rand.N(10 * time.Second))
			p.WriteLen(2)
			p.WriteBulk(fmt.Sprint(at.Unix()))
			p.WriteBulk(fmt.Sprint(at.Nanosecond() / 1000))
			return true
		},
	} {
		t.Run(how, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				var reported atomic.Int64
				l, _ := c.Locker(redlock.WithHooks(redlock.Hooks{
					NodeError: func(string, string, error) { reported.Add(1) },
					ClockJump: func(string, time.Duration) { reported.Add(1) },
				}))
				acquireAndRelease(t, l, "x")
				c.SetPreHook(0, func(p *server.Peer, cmd string, _ ...string) bool { return answer(p, strings.ToUpper(cmd)) })
				for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(100 * time.Millisecond) {
					acquireAndRelease(t, l, "x")
				}
				if n := reported.Load(); n < 10 || n > 50 {
					t.Errorf("the hooks were called %d times in 20 s", n)
				}
			})
		})
	}
}
