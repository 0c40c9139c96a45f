package nodetest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestNode_LargeValuesArriveWhole(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		want := strings.Repeat("0123456789", 100_000)
		ok(t, l.Clients()[0].Set(t.Context(), "k", want, 0).Err())
		got, err := l.Clients()[0].Get(t.Context(), "k").Result()
		ok(t, err)
		if got != want {
			t.Errorf("got %d bytes back, want the %d sent", len(got), len(want))
		}
	})
}

func TestNode_TTLFollowsTheBubblesClock(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := l.Clients()[0]
		ok(t, client.Set(t.Context(), "k", "v", 10*time.Second).Err())
		time.Sleep(4 * time.Second)
		if got := client.PTTL(t.Context(), "k").Val(); got != 6*time.Second {
			t.Errorf("after 4s of 10s the TTL is %v, want 6s", got)
		}
		time.Sleep(6 * time.Second)
		if err := client.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("get after the TTL: %v, want redis.Nil", err)
		}
	})
}

func TestNode_RunsScriptsAndPubSub(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := l.Clients()[0]
		sub := client.Subscribe(t.Context(), "news")
		defer sub.Close()
		_, err := sub.Receive(t.Context())
		ok(t, err)

		script := redis.NewScript(`return redis.call('PUBLISH', 'news', ARGV[1])`)
		sha, err := script.Load(t.Context(), client).Result()
		ok(t, err)
		if got := client.EvalSha(t.Context(), sha, nil, "hello").Val(); got != int64(1) {
			t.Errorf("the script reached %v subscribers, want 1", got)
		}
		message, err := sub.ReceiveMessage(t.Context())
		ok(t, err)
		if message.Payload != "hello" {
			t.Errorf("received %q, want hello", message.Payload)
		}
	})
}
