package redlock_test

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func clients(addrs ...string) []redis.UniversalClient {
	var all []redis.UniversalClient
	for _, addr := range addrs {
		all = append(all, redis.NewClient(&redis.Options{Addr: addr}))
	}
	return all
}

func closeAll(t *testing.T, all []redis.UniversalClient) {
	t.Helper()
	for _, client := range all {
		if c, ok := client.(*redis.Client); ok && c == nil || client == nil {
			continue
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

// go-redis calls the address of every Sentinel client the same.
func TestNew_TakesSentinelClientsOfSeveralMasters(t *testing.T) {
	var all []redis.UniversalClient
	for _, master := range []string{"a", "b", "c"} {
		all = append(all, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: master, SentinelAddrs: []string{"s:1"}}))
	}
	defer closeAll(t, all)
	l, err := redlock.New(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = redlock.New([]redis.UniversalClient{all[0], all[1], all[0]})
	want.Text(t, err, "nodes 1 and 3 of 3 are the same server")
}

func TestNew_NamesEveryProblemAtOnce(t *testing.T) {
	var typedNil *redis.Client
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	for name, test := range map[string]struct {
		nodes []redis.UniversalClient
		opts  []redlock.Option
		want  []string
	}{
		"no nodes":  {nil, nil, []string{"nodes: there are none"}},
		"even":      {clients("a:1", "b:1"), nil, []string{"there are 2", "must be odd"}},
		"many":      {make([]redis.UniversalClient, 65), nil, []string{"there are 65, the limit is 64"}},
		"nil":       {[]redis.UniversalClient{nil}, nil, []string{"node 1 of 1 is nil"}},
		"typed nil": {[]redis.UniversalClient{typedNil}, nil, []string{"node 1 of 1 is nil"}},
		"ring":      {[]redis.UniversalClient{ring}, nil, []string{"redis.Ring"}},
		"twice": {
			clients("localhost:1", "a:1", "127.0.0.1:1"), nil,
			[]string{"nodes 1 and 3 of 3 are the same server 127.0.0.1:1"},
		},
		"all of it": {
			clients("a:1", "A:1"),
			[]redlock.Option{
				redlock.WithTTL(50 * time.Millisecond), redlock.WithMaxTTL(40 * time.Millisecond),
				redlock.WithKeyPrefix("{x}"), redlock.WithNodeTimeout(-1),
				redlock.WithFenceRetention(30 * time.Millisecond),
			},
			[]string{
				"there are 2", "same server a:1", "ttl 50ms must be at least 100ms",
				"ttl 50ms must not be above max ttl 40ms", `key prefix "{x}"`, "node timeout -1ns",
				"fence retention 30ms must be at least max ttl 40ms + max clock skew",
			},
		},
		"nil option": {
			clients("a:1"), []redlock.Option{nil, redlock.WithTTL(0)}, []string{"option 1 of 2 is nil", "ttl 0s"},
		},
		"max ttl": {
			clients("a:1"), []redlock.Option{redlock.WithMaxTTL(11 * 365 * 24 * time.Hour)}, []string{"is more than ten years"},
		},
		"tls of clients": {clients("a:1"), []redlock.Option{redlock.WithTLS(&tls.Config{})}, []string{"WithTLS is for Open"}},
		"zero ttl":       {clients("a:1"), []redlock.Option{redlock.WithTTL(0)}, []string{"ttl 0s"}},
		"negative ttl":   {clients("a:1"), []redlock.Option{redlock.WithTTL(-1)}, []string{"ttl -1ns"}},
		"slow node": {
			clients("a:1"),
			[]redlock.Option{redlock.WithTTL(3 * time.Second), redlock.WithNodeTimeout(time.Second)},
			[]string{"node timeout 1s must be below ttl/3 1s"},
		},
		"long prefix": {
			clients("a:1"), []redlock.Option{redlock.WithKeyPrefix(strings.Repeat("p", 65))},
			[]string{"key prefix", "1 to 64"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := redlock.New(test.nodes, test.opts...)
			if l != nil {
				t.Error("there is a Locker all the same")
			}
			want.Err(t, err, redlock.ErrConfig)
			want.Text(t, err, test.want...)
			closeAll(t, test.nodes)
		})
	}
}

// After a failed attempt, a node that hangs may still have a record. Close waits until it is removed, or as long as its
// context allows, and then says what it did not wait for.
func TestClose_WaitsUntilEverythingIsSettled(t *testing.T) {
	for name, patience := range map[string]time.Duration{"long enough": time.Minute, "not long enough": time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				l, process := c.Locker()
				warmUp(t, l)
				take(c, "x", 0, 1)
				process.Hang(2)
				_, err := l.TryAcquire(t.Context(), "x")
				want.Err(t, err, redlock.ErrHeld)
				time.AfterFunc(5*time.Second, func() { process.Heal() })
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				took := bubble.Took(func() { err = l.Close(ctx) })
				if patience > ttl {
					if got := on(c, "x"); err != nil || got != 2 {
						t.Errorf("%v; the lock is on %d nodes, want the other's two", err, got)
					}
					return
				}
				want.Text(t, err, "locks may be left on 127.0.0.1:7003: 1, the last expires by ")
				if took > patience+2*nodeTimeout {
					t.Errorf("took %v", took)
				}
				time.Sleep(nodeTimeout) // a call under way ends by then
			})
		})
	}
}

func TestHolder_IsWhoAMajorityNames(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		observer, _ := c.Locker()
		_, err := observer.Holder(t.Context(), "x")
		want.Err(t, err, redlock.ErrVacant)

		text := "a:b \xff\x00\n"
		lease := mustAcquire(t, l, "x", redlock.WithValue(text))
		time.Sleep(time.Second)
		h, err := observer.Holder(t.Context(), "x")
		if err != nil || h.Value != text || h.Token != lease.Token() ||
			time.Until(h.Expires) != ttl-time.Second {
			t.Errorf("got %+v in %v, %v", h, time.Until(h.Expires), err)
		}
		_, err = observer.TryAcquire(t.Context(), "x")
		if who, held := redlock.HeldBy(err); !held || who != text {
			t.Errorf("the error of an attempt names %q, %v", who, held)
		}

		take(c, "y", 0, 1)
		_, err = observer.Holder(t.Context(), "y")
		want.Err(t, err, redlock.ErrVacant) // a minority does not make a holder

		process.Hang(2)
		_, err = l.Holder(t.Context(), "y")
		want.Err(t, err, redlock.ErrNoQuorum) // with node 2 it may be a majority

		process.Hang(0, 1, 2)
		_, err = l.Holder(t.Context(), "x")
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "2 of 5 nodes")
		for _, err := range []error{err, context.Canceled} {
			if who, held := redlock.HeldBy(err); held {
				t.Errorf("%v names %q", err, who)
			}
		}
	})
}
