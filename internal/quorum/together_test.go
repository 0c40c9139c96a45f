package quorum_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// numbered is a call's argument, with a name.
type numbered struct {
	name   string
	number int
}

func (n numbered) AppendArgs(_ int, args []any) []any { return append(args, n.name, n.number) }
func (n numbered) Name() string                       { return n.name }

// Each call reads the state before it.
func TestNode_CallsOfOneNameDoNotTravelTogether(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		swap := quorum.NewScript("swap", `local line = '1 1 -'
			local before = {}
			for i = 1, #ARGV, 2 do before[i] = redis.call('GET', ARGV[i]) end
			for i = 1, #ARGV, 2 do
				line = line .. ' b' .. (before[i] or 0)
				redis.call('SET', ARGV[i], ARGV[i + 1])
			end
			return line`, func(r *quorum.Reply) (int64, error) { _, n, _, err := r.Item(); return n, err }).Command(100, nil)
		c.Delay(10 * time.Millisecond)
		var rounds []*quorum.Round[int64]
		names := []string{"first", "a", "b", "a", "a", "b", "c"}
		for i, name := range names {
			r := quorum.Prepare(q, 0, swap.Call(numbered{name, i + 1}))
			r.Send()
			rounds = append(rounds, r)
		}
		for i, want := range []int64{0, 0, 0, 2, 4, 3, 0} {
			if err := rounds[i].Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := rounds[i].Answer(0); got.Err != nil || got.Value != want {
				t.Errorf("call %d, %q: %d, %v, want %d", i, names[i], got.Value, got.Err, want)
			}
		}
	})
}

// A node that lacks a script is sent it once, however many calls wait.
func TestNode_ThatLacksAScriptGetsItOnceForAll(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		c.FlushScripts(0)
		c.Delay(10 * time.Millisecond) // a round trip of 20 ms
		var rounds []*quorum.Round[int64]
		before, began := c.Requests(0), time.Now()
		for range 8 {
			r := quorum.Prepare(q, 0, count.Command(1, nil, "n").Call(one{}))
			r.Send()
			rounds = append(rounds, r)
		}
		for i, r := range rounds {
			if err := r.Wait(t.Context()); err != nil || r.Answer(0).Err != nil {
				t.Errorf("call %d: %v, %v", i, err, r.Answer(0).Err)
			}
		}
		// The first and the others, each by hash, and once more: by source, and together by hash. There are fewer if
		// some were sent only after the node had the script.
		if asked, took := c.Requests(0)-before, time.Since(began); asked > 8+8 || took > 100*time.Millisecond {
			t.Errorf("%d requests in %v, want 16 at most in at most five round trips", asked, took)
		}
	})
}

// If several workers are idle and the node stops answering, all but one end. A task for which one of them was woken
// must not be left behind.
func TestNode_WorkersThatGoLeaveNoTask(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		ask := func() error {
			a, err := quorum.AskNode(t.Context(), q, 0, counting())
			return errors.Join(a.Err, err)
		}
		c.Delay(10 * time.Millisecond)
		var asking sync.WaitGroup
		for range 3 { // three workers
			asking.Go(func() { _ = ask() })
			time.Sleep(2 * time.Millisecond)
		}
		asking.Wait()
		c.Delay(0)
		c.Hang()
		_ = ask()
		c.Heal()
		time.Sleep(50 * time.Millisecond)
		for range 3 {
			if err := ask(); err != nil {
				t.Errorf("a node that is well: %v", err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Idle(ctx); err != nil {
			t.Error(err)
		}
	})
}

// Another user of a client with a single connection need not wait until a worker has lingered. The test runs in real
// time: waiting for go-redis's pool in a bubble leaves a timer behind that breaks the next bubble.
func TestNode_GivesItsConnectionBack(t *testing.T) {
	c := nodetest.Start(1)
	defer c.Close()
	options := c.Links().Options(0)
	options.PoolSize = 1
	client := redis.NewClient(options)
	defer client.Close()
	config := config()
	config.Timeout = 700 * time.Millisecond // a worker lingers for a second
	for range 4 {
		q := quorum.New([]redis.UniversalClient{client}, c.Addrs(), config)
		for range 3 { // a connection is kept from the second call on
			if a, err := quorum.AskNode(t.Context(), q, 0, counting()); err != nil || a.Err != nil {
				t.Errorf("%v, %v", a.Err, err)
			}
		}
		defer func() { _ = q.Close(context.Background()) }()
	}
}
