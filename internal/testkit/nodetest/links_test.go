package nodetest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestLinks_DeliverAfterTheirProcessEnded(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := l.Clients()[0]
		ok(t, client.Ping(t.Context()).Err())
		c.Hang()
		var call sync.WaitGroup
		call.Go(func() { client.Set(context.Background(), "k", "late", 0) })
		synctest.Wait()
		l.Close()
		call.Wait()
		if c.Node(0).Exists("k") {
			t.Error("a hung node handled a request")
		}
		c.Heal()
		synctest.Wait()
		has(t, c, 0, "k", "late")
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
