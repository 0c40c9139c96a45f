package nodeclock_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is a world in which requests to different nodes are sent, read, received and noted in any order. A node has one at a
// time, as in package quorum.
type model struct {
	*world
	t          *rapid.T
	unread     []*request
	unreceived []*request // read, not received
	unnoted    []*request // received
	seen       []bool
}

func newModel(t *rapid.T) *model {
	nodes := rapid.IntRange(3, 5).Draw(t, "nodes")
	return &model{world: newWorld(nodes), t: t, seen: make([]bool, nodes)}
}

// step does something, and returns the reply that was noted, if any, and the jump that it shows.
func (m *model) step() (*request, time.Duration) {
	switch rapid.SampledFrom([]string{"pass", "send", "send", "read", "read", "receive", "receive",
		"note", "note", "note", "steer"}).Draw(m.t, "step") {
	case "pass":
		longest := 3000
		if len(m.unread)+len(m.unreceived)+len(m.unnoted) > 0 {
			longest = 20
		}
		m.pass(time.Duration(rapid.IntRange(0, longest*1000).Draw(m.t, "µs")) * time.Microsecond)
	case "send":
		if node := rapid.IntRange(0, len(m.nodes)-1).Draw(m.t, "node"); !m.isAsked(node) {
			m.unread = append(m.unread, m.send(node))
		}
	case "read":
		if r := m.pick(&m.unread); r != nil {
			m.pass(time.Microsecond) // otherwise a clock would show one instant twice
			m.read(r)
			m.unreceived = append(m.unreceived, r)
		}
	case "receive":
		if r := m.pick(&m.unreceived); r != nil {
			m.receive(r)
			m.unnoted = append(m.unnoted, r)
		}
	case "note":
		if r := m.pick(&m.unnoted); r != nil {
			m.seen[r.node] = true
			return r, m.note(r)
		}
	case "steer":
		for i := range m.rates {
			m.rates[i] = drift * rapid.Float64Range(-1, 1).Draw(m.t, "rate")
		}
	}
	return nil, 0
}

func (m *model) pick(from *[]*request) *request {
	if len(*from) == 0 {
		return nil
	}
	i := rapid.IntRange(0, len(*from)-1).Draw(m.t, "which")
	r := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return r
}

func (m *model) isAsked(node int) bool {
	return slices.ContainsFunc(slices.Concat(m.unread, m.unreceived, m.unnoted), func(r *request) bool { return r.node == node })
}

// lose loses the request to the node, if there is one.
func (m *model) lose(node int) {
	for _, open := range []*[]*request{&m.unread, &m.unreceived, &m.unnoted} {
		*open = slices.DeleteFunc(*open, func(r *request) bool { return r.node == node })
	}
}

// check fails the test unless all nodes but one are trusted, and all bounds contain the truth.
func (m *model) check(but int) {
	m.t.Helper()
	for i, seen := range m.seen {
		if err := m.distrust(i); i != but && err != nil {
			m.t.Fatalf("node %d: %v", i, err)
		}
		if seen && i != but {
			m.truth(m.t, i, 1000*time.Hour)
		}
	}
}

// width returns the uncertainty of the node's clock.
func (m *model) width(node int) time.Duration {
	earliest, latest, _ := m.Bounds(node, m.instant())
	return time.Duration(latest-earliest) * time.Microsecond
}

func TestModel_AJumpThatTheIntervalsExcludeIsSeenAtTheNextReply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(0, 60).Draw(t, "before") {
			m.step()
		}
		node := rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node")
		if !m.seen[node] {
			m.lose(node)
			m.ask(node, ms)
			m.seen[node] = true
		}
		for range rapid.IntRange(0, 20).Draw(t, "between") {
			m.step()
		}

		rtt := time.Duration(rapid.IntRange(0, 300).Draw(t, "rtt")) * ms
		beyond := time.Duration(rapid.IntRange(1, 10_000_000).Draw(t, "beyond")) * 10 * time.Microsecond
		open := m.width(node) + 2*time.Duration(drift*float64(rtt)) + // when the reply is received
			rtt + 2*time.Duration(drift*float64(rtt)) + 2*ms // of the reply
		by := open + beyond
		if rapid.Bool().Draw(t, "back") {
			by = -by
		}
		m.lose(node)
		m.nodes[node] += by
		if jumped := m.ask(node, rtt); jumped == 0 || !near(jumped, by, open) {
			t.Fatalf("a jump by %v, to within %v: %v", by, open, jumped)
		}

		for range 60 {
			if r, jumped := m.step(); jumped != 0 {
				t.Fatalf("after the jump: %+v: %v", r, jumped)
			}
			m.check(node)
			m.truth(t, node, 1000*time.Hour)
		}
		_, left := stated(t, m.distrust(node))
		m.pass(left)
		m.check(-1)
	})
}
