package nodetest_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestDelay_OfAProcessAndOfTheNodeAddUp(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.Delay(50 * time.Millisecond)
		c.Delay(25*time.Millisecond, 0)
		took(t, 150*time.Millisecond, func() { ok(t, client.Ping(t.Context()).Err()) })
	})
}

func TestDropReplies_LosesTheReplyNotTheEffect(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.DropReplies()
		for try := range 3 { // first on the open connection, then on new ones
			if err := client.Incr(t.Context(), "n").Err(); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("call %d: %v, want a reset", try, err)
			}
			has(t, c, 0, "n", fmt.Sprint(try+1))
		}
		l.Heal()
		if n := client.Incr(t.Context(), "n").Val(); n != 4 {
			t.Errorf("healed: counter at %d, want 4", n)
		}
	})
}
