package quorum_test

import (
	"context"
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

// A node that lacks the script of one call has carried out those behind it when that call is sent again. So what sets a
// lock is not sent together with what frees it.
func TestNode_CallsOfOneNameKeepTheirOrder(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		read := func(r *quorum.Reply) (int64, error) { _, n, _, err := r.Item(); return n, err }
		known := quorum.NewScript("get", `return '1 1 - a' .. (redis.call('GET', ARGV[1]) or 0)`, read).Command(1, nil)
		lacking := quorum.NewScript("set", `redis.call('SET', ARGV[1], ARGV[2]) return '1 1 - a0'`, read).Command(1, nil)
		if a, err := askNode(t, q, known.Call(numbered{"x", 0})); err != nil || a.Err != nil {
			t.Fatal(a.Err, err)
		}
		c.Delay(10 * time.Millisecond)
		var last *quorum.Round[int64]
		for _, call := range []quorum.Call[int64]{counting(), lacking.Call(numbered{"x", 7}), known.Call(numbered{"x", 0})} {
			last = quorum.Prepare(q, 0, call)
			last.Send()
		}
		if err := last.Wait(t.Context()); err != nil || last.Answer(0).Value != 7 {
			t.Errorf("the last call saw %d, %v, want what the call before it has set", last.Answer(0).Value, err)
		}
	})
}

// Another user of a Sentinel client with a single connection need not wait for the Quorum to close. The test runs in real
// time: waiting for go-redis's pool in a bubble leaves a timer behind that breaks the next bubble.
func TestNode_GivesItsConnectionBack(t *testing.T) {
	c := nodetest.Start(1)
	defer c.Close()
	options := c.Links().Options(0)
	options.PoolSize = 1
	options.Addr = "FailoverClient" // as of each Sentinel client
	client := redis.NewClient(options)
	defer client.Close()
	config := config()
	for range 4 {
		q := quorum.New([]redis.UniversalClient{client}, c.Addrs(), config)
		for range 3 {
			if a, err := askNode(t, q, counting()); err != nil || a.Err != nil {
				t.Errorf("%v, %v", a.Err, err)
			}
		}
		defer func() { _ = q.Close(context.Background()) }()
	}
}
