package nodetest_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// ahead fails the test unless node 0's clock is want ahead of the bubble's, in and out of scripts.
func ahead(t *testing.T, client *redis.Client, want time.Duration) {
	t.Helper()
	outside, err := client.Time(t.Context()).Result()
	ok(t, err)
	if got := time.Until(outside); got != want {
		t.Errorf("TIME is %v ahead, want %v", got, want)
	}
	script := `local t = redis.call('TIME') return t[1] .. string.format('%06d', t[2])`
	inside, err := client.Eval(t.Context(), script, nil).Text()
	ok(t, err)
	us, err := strconv.ParseInt(inside, 10, 64)
	ok(t, err)
	if got := time.Until(time.UnixMicro(us)); got != want {
		t.Errorf("TIME in a script is %v ahead, want %v", got, want)
	}
}

func TestJump_ForwardExpiresKeysEarlier(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		c.Offset(0, time.Second)
		ok(t, client.Set(t.Context(), "short", "v", 10*time.Second).Err())
		ok(t, client.Set(t.Context(), "long", "v", 20*time.Second).Err())
		ok(t, client.Set(t.Context(), "forever", "v", 0).Err())
		time.Sleep(4 * time.Second) // unseen by the node until the next command
		c.Jump(0, 6*time.Second)
		ahead(t, client, 7*time.Second)
		if n := client.Exists(t.Context(), "short").Val(); n != 0 {
			t.Error("a key outlived a jump to its end")
		}
		if got := client.PTTL(t.Context(), "long").Val(); got != 10*time.Second {
			t.Errorf("after 4s and a jump of 6s of 20s the TTL is %v, want 10s", got)
		}
		ok(t, client.Set(t.Context(), "after", "v", 10*time.Second).Err())
		time.Sleep(9 * time.Second)
		if n := client.Exists(t.Context(), "forever", "long", "after").Val(); n != 3 {
			t.Errorf("%d keys of 3 are there before their end", n)
		}
		time.Sleep(time.Second)
		if n := client.Exists(t.Context(), "forever", "long", "after").Val(); n != 1 {
			t.Errorf("%d keys of 1 are there after their end", n)
		}
	})
}
