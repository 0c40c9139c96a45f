package nodetest_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestCut_BreaksConnectionsAndRefusesDials(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		l.Hang(0)
		waiting := make(chan error)
		go func() { waiting <- client.Set(context.Background(), "k", "lost", 0).Err() }()
		synctest.Wait()
		took(t, 0, func() {
			l.Cut(0)
			if err := <-waiting; !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("call under way: %v, want a reset", err)
			}
			if err := client.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("new call: %v, want refused", err)
			}
		})
		ok(t, l.Clients()[1].Ping(t.Context()).Err())
		l.Heal(0)
		ok(t, client.Ping(t.Context()).Err())
		if c.Node(0).Exists("k") {
			t.Error("the request that the cut lost took effect")
		}
	})
}

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
