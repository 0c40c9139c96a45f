package quorum_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestOptional_ErrorsOfNodesAreSeenByTheRoundAlone(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		var seen, failed atomic.Int32
		settings := config()
		settings.Seen = func(_ int, e quorum.Exchange) {
			seen.Add(1)
			if e.Err != nil {
				failed.Add(1)
			}
		}
		q := start(c, settings)
		optional := quorum.NewScript("optional", "redis.call('INCR', KEYS[1]) return '1 1 a'",
			func(*quorum.Reply) (int64, error) { return 0, nil }).Optional().Command(1, nil, "n").Call(nil)
		check := func(what string, call quorum.Call[int64], fails string, wantSeen, wantFailed int32) {
			t.Helper()
			seen.Store(0)
			failed.Store(0)
			a, err := askNode(t, q, call)
			time.Sleep(timeout) // late answers are seen as well
			synctest.Wait()
			if err != nil || (a.Err != nil) != (fails != "") {
				t.Errorf("%s: the answer is %+v, %v", what, a, err)
			}
			if fails != "" {
				want.Text(t, a.Err, fails)
			}
			if s, f := seen.Load(), failed.Load(); s != wantSeen || f != wantFailed {
				t.Errorf("%s: %d seen, %d of them failures, want %d and %d", what, s, f, wantSeen, wantFailed)
			}
		}
		check("a reply", optional, "", 1, 0)
		c.Deny(0, "INCR")
		check("an error", optional, "NOPERM", 0, 0)
		check("an error of another script", counting(), "NOPERM", 1, 1)
		c.Deny(0)
		c.DropReplies()
		check("a broken connection", optional, "connection reset", 1, 1)
	})
}
