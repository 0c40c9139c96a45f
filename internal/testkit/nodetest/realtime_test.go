package nodetest_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestNodes_SpeakForThemselvesInRealTime(t *testing.T) {
	c := nodetest.Start(1)
	t.Cleanup(c.Close)
	l := c.Links()
	client, sub := single(t, l), subscribe(t, c.Links())

	c.Offset(0, time.Hour)
	now, err := client.Time(t.Context()).Result()
	ok(t, err)
	if got := time.Until(now); got < 59*time.Minute || got > time.Hour {
		t.Errorf("TIME is %v ahead, want an hour", got)
	}
	ok(t, client.Set(t.Context(), "k", "v", time.Hour).Err())
	before := says(t, client, "run_id")
	c.RestartFrom(0, c.Snapshot(0))
	if got := client.PTTL(t.Context(), "k").Val(); got < 59*time.Minute || got > time.Hour {
		t.Errorf("TTL %v, want an hour", got)
	}
	if says(t, client, "run_id") == before {
		t.Errorf("still the run id %s", before)
	}
	c.Jump(0, 2*time.Hour)
	if err := client.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("get after a jump past the end: %v, want %v", err, redis.Nil)
	}
	l.Answer(loading)
	if err := client.Ping(t.Context()).Err(); err == nil || err.Error() != loading {
		t.Errorf("ping: %v, want %s", err, loading)
	}
	l.Heal()
	l.Tear()
	if err := client.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("ping: %v, want a reset", err)
	}
	l.Heal()
	if _, err := sub.Receive(t.Context()); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("receive after the restart: %v, want a reset", err)
	}
	_, err = sub.Receive(t.Context())
	ok(t, err)
	publish(t, client, "hello")
	receives(t, sub, "hello")
}
