package nodetest_test

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// subscribe returns a confirmed subscription to "news" of node 0.
func subscribe(t *testing.T, l *nodetest.Links) *redis.PubSub {
	t.Helper()
	sub := l.Clients()[0].Subscribe(t.Context(), "news")
	t.Cleanup(func() { sub.Close() })
	_, err := sub.Receive(t.Context())
	ok(t, err)
	return sub
}

// publish publishes from inside a script.
func publish(t *testing.T, client *redis.Client, message string) {
	t.Helper()
	script := `return redis.call('PUBLISH', 'news', ARGV[1])`
	ok(t, client.Eval(t.Context(), script, nil, message).Err())
}

// receives fails the test unless that message is next.
func receives(t *testing.T, sub *redis.PubSub, want string) {
	t.Helper()
	message, err := sub.ReceiveMessage(t.Context())
	ok(t, err)
	if message.Payload != want {
		t.Errorf("received %q, want %q", message.Payload, want)
	}
}

func TestPublish_InAScriptReachesOtherProcesses(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		publisher := single(t, l)
		subs := []*redis.PubSub{subscribe(t, c.Links()), subscribe(t, c.Links())}
		publish(t, publisher, "hello")
		for _, sub := range subs {
			receives(t, sub, "hello")
		}
		subscriber := c.Links()
		sub := subscribe(t, subscriber)
		subscriber.Delay(time.Second)
		publish(t, publisher, "slow")
		took(t, time.Second, func() { receives(t, sub, "slow") })
	})
}

func TestSubscription_IsMadeAgainAfterABreak(t *testing.T) {
	breaks := map[string]func(c *nodetest.Cluster, l *nodetest.Links){
		"cut link":  func(c *nodetest.Cluster, l *nodetest.Links) { l.Cut(); l.Heal() },
		"cut node":  func(c *nodetest.Cluster, l *nodetest.Links) { c.Cut(0); c.Heal(0) },
		"restart":   func(c *nodetest.Cluster, l *nodetest.Links) { c.Restart(0) },
		"promotion": func(c *nodetest.Cluster, l *nodetest.Links) { c.Promote(0) },
		"older data file": func(c *nodetest.Cluster, _ *nodetest.Links) {
			c.RestartFrom(0, c.Snapshot(0))
		},
	}
	for name, breakIt := range breaks {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
				sub := subscribe(t, l)
				breakIt(c, l)
				publisher := single(t, c.Links())
				publish(t, publisher, "nobody hears it")
				if _, err := sub.Receive(t.Context()); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("receive: %v, want a reset", err)
				}
				if _, err := sub.Receive(t.Context()); err != nil { // subscribed again
					t.Errorf("second receive: %v", err)
				}
				publish(t, publisher, "again")
				receives(t, sub, "again")
			})
		})
	}
}

func TestSubscription_FailsWhileTheNodeIsAway(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		sub := subscribe(t, l)
		c.Kill(0)
		if _, err := sub.Receive(t.Context()); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("receive: %v, want a reset", err)
		}
		if _, err := sub.Receive(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("receive from a dead node: %v, want refused", err)
		}
		c.Restart(0)
		_, err := sub.Receive(t.Context())
		ok(t, err)
		publish(t, single(t, c.Links()), "back")
		receives(t, sub, "back")
	})
}

func TestSubscription_OfAHungProcessReceivesLate(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		sub := subscribe(t, l)
		l.Hang()
		publisher := single(t, c.Links())
		took(t, 0, func() { publish(t, publisher, "late") })
		time.AfterFunc(time.Minute, func() { l.Heal() })
		took(t, time.Minute, func() { receives(t, sub, "late") })

		c.Hang()
		_, err := sub.ReceiveTimeout(t.Context(), time.Second)
		if !isTimeout(err) {
			t.Errorf("receive from a hung node: %v, want a timeout", err)
		}
	})
}

func TestSubscription_StaysUnderAnswerButNoneIsMade(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		sub := subscribe(t, l)
		publisher := single(t, c.Links())
		l.Answer(loading)
		publish(t, publisher, "still here")
		receives(t, sub, "still here")
		late := l.Clients()[0].Subscribe(t.Context(), "news")
		defer late.Close()
		if _, err := late.Receive(t.Context()); err == nil || err.Error() != loading {
			t.Errorf("new subscription: %v, want %s", err, loading)
		}
		l.Heal()
		publish(t, publisher, "healed")
		receives(t, sub, "healed")
		// go-redis keeps the connection and does not ask again.
		if _, err := late.ReceiveTimeout(t.Context(), time.Hour); !isTimeout(err) {
			t.Errorf("refused subscription after Heal: %v, want a timeout", err)
		}
	})
}

func TestSubscription_BreaksUnderDropReplies(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		sub := subscribe(t, l)
		l.DropReplies()
		publish(t, single(t, c.Links()), "lost")
		for _, lost := range []string{"message", "confirmation"} {
			if _, err := sub.Receive(t.Context()); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%s: %v, want a reset", lost, err)
			}
		}
		l.Heal()
		synctest.Wait()
		publish(t, single(t, c.Links()), "heard")
		_, err := sub.Receive(t.Context())
		ok(t, err)
		receives(t, sub, "heard")
	})
}
