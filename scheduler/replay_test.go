package scheduler_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/replay"
)

// replayed has a checker see what the nodes do. The function that it returns checks that, and the runs that were started.
func (c *cluster) replayed(nodes int) (check func(t *testing.T) (counts map[replay.Rule]int)) {
	checker := replay.New(records.Default.Hash(), nodes, c.ttl)
	c.messages = make([]messages, nodes)
	for i := range nodes {
		c.SetPreHook(i, func(_ *server.Peer, command string, args ...string) bool {
			c.messages[i].add(command, args)
			if len(args) > 0 && args[0] != records.Default.Hash() { // the locks need the node's clock
				checker.Command(i, time.Time{}, command, args...)
			}
			return false
		})
	}
	return func(t *testing.T) map[replay.Rule]int {
		t.Helper()
		for _, r := range c.records() {
			if !r.Manual {
				checker.Started("x", r.Job, r.Tick.UnixMilli(), r.Attempt, r.Token)
			}
		}
		if err := checker.Err(); err != nil {
			t.Errorf("the specification does not allow it: %v", err)
		}
		rules := make(map[replay.Rule]int)
		t.Logf("replayed: %d steps; by rule:%s", checker.AddTo(rules), replay.Counts(rules))
		return rules
	}
}

// messages are the last calls of scripts that a node has received about jobs.
type messages struct {
	mu   sync.Mutex // guards last
	last [][]any
}

func (m *messages) add(command string, args []string) {
	if command != "EVALSHA" || len(args) < 4 || args[3] != "{redlock}:jobs:x" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	call := []any{command}
	for _, arg := range args {
		call = append(call, arg)
	}
	m.last = append(m.last[max(0, len(m.last)-99):], call)
}

// repeat has node i receive its last messages again, from the oldest one on.
func (c *cluster) repeat(i int) {
	m := &c.messages[i]
	m.mu.Lock()
	last := slices.Clone(m.last)
	m.mu.Unlock()
	node := c.Raw()[i]
	for _, call := range last {
		_ = node.Do(c.T.Context(), call...).Err() // that a message is refused is no error
	}
}

// Leaders change, are cut off and stop, nodes restart and lose their data, clocks are set back, and messages arrive late. What the
// nodes do is what the rules of the specification allow, and each rule is needed. The random plans of TestPlans_ check the same.
func TestReplay_OfAPlan(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		check := c.replayed(3)
		h := rough{cluster: c, r: rand.New(rand.NewPCG(1, 2)), offsets: make([]time.Duration, 3)}
		for _, id := range []string{"a", "b"} {
			p := c.replica(id)
			job := p.job("job", "*/10 * * * * *", quick)
			catchUpAll(&job)
			p.add(job)
			h.all = append(h.all, p)
		}
		for range 10 {
			time.Sleep(time.Duration(h.r.IntN(60_000)) * time.Millisecond)
			h.step(false)
		}
		h.Heal()
		h.agree()
		time.Sleep(time.Minute)
		for _, p := range h.all { // one of them leads, and node 0 lacks what it then writes
			p.links.Cut(0)
			time.Sleep(2 * ttl)
			p.leaves()
			p.campaign()
			time.Sleep(ttl)
			h.Heal()
			for node := range h.offsets {
				h.repeat(node)
			}
			h.Wipe(0)
			h.repeat(0)
			time.Sleep(ttl)
		}
		for rules, i := check(t), 0; i < len(replay.OfJobs); i++ {
			if r := replay.OfJobs[i]; rules[r] == 0 {
				t.Errorf("rule %s was never checked", r)
			}
		}
	})
}
