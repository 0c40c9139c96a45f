package nodeclock_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is a world in which requests are sent, read, received and noted in any order.
type model struct {
	*world
	t          *rapid.T
	unread     []*request
	unreceived []*request // read, not received
	unnoted    []*request // received
	seen       []bool

	owed time.Duration // slept, and reported, but not yet added to the process's clock
	due  time.Duration // when it must be added, by now
}

func newModel(t *rapid.T, fewest int) *model {
	nodes := rapid.IntRange(fewest, 5).Draw(t, "nodes")
	return &model{world: newWorld(nodes), t: t, seen: make([]bool, nodes)}
}

// step does something, and returns the reply that was noted, if any, and its sighting.
func (m *model) step() (*request, sighting) {
	switch rapid.SampledFrom([]string{"pass", "send", "send", "read", "read", "receive", "receive",
		"note", "note", "note", "add", "steer"}).Draw(m.t, "step") {
	case "pass":
		longest := 3000
		if len(m.unread)+len(m.unreceived)+len(m.unnoted) > 0 {
			longest = 20
		}
		m.wait(time.Duration(rapid.IntRange(0, longest*1000).Draw(m.t, "µs")) * time.Microsecond)
	case "send":
		m.unread = append(m.unread, m.send(rapid.IntRange(0, len(m.nodes)-1).Draw(m.t, "node")))
	case "read":
		if r := m.pick(&m.unread); r != nil {
			m.wait(time.Microsecond) // otherwise a clock would show one instant twice
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
			return r, m.noteOne(r)
		}
	case "add":
		m.add()
	case "steer":
		for i := range m.rates {
			m.rates[i] = drift * rapid.Float64Range(-1, 1).Draw(m.t, "rate")
		}
	}
	return nil, sighting{}
}

func (m *model) wait(d time.Duration) {
	if m.owed > 0 && m.now+d > m.due {
		m.add()
	}
	m.pass(d)
}

func (m *model) add() { m.slept, m.owed = m.slept+m.owed, 0 }

func (m *model) noteOne(r *request) sighting {
	s := m.see(r)
	m.seen[r.node] = true
	if s.Slept > 0 {
		m.add()
		m.owed, m.due = s.Slept, m.now+90*ms
	}
	return s
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
		m := newModel(t, 3)
		for range rapid.IntRange(0, 60).Draw(t, "before") {
			m.step()
		}
		node := rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node")
		if !m.seen[node] {
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
		m.nodes[node] += by
		s := m.ask(node, rtt)
		if s.Slept != 0 || s.Jumped == 0 || !near(s.Jumped, by, open) {
			t.Fatalf("a jump by %v, to within %v: %+v", by, open, s)
		}

		for range 60 {
			if r, s := m.step(); s != (sighting{}) {
				t.Fatalf("after the jump: %+v: %+v", r, s)
			}
			m.check(node)
			m.truth(t, node, 1000*time.Hour)
		}
		_, left := stated(t, m.distrust(node))
		m.pass(left)
		m.check(-1)
	})
}

func TestModel_ASleepIsFoundAtLatestWhenAQuorumHasBeenSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t, 1)
		quorum := len(m.nodes)/2 + 1
		for range rapid.IntRange(1, 3).Draw(t, "sleeps") {
			m.settle(rapid.IntRange(quorum, len(m.nodes)).Draw(t, "seen"))
			m.calm(rapid.IntRange(0, 40).Draw(t, "before"))

			slept := time.Duration(rapid.IntRange(20, 10_000).Draw(t, "sleep")) * time.Second
			seen, read := m.knownNow()
			m.sleep(slept)
			after := map[int]bool{} // nodes that have shown it
			for found := false; !found; {
				r, s := m.step()
				if r == nil {
					continue
				}
				if seen[r.node] && !read[r] {
					after[r.node] = true
				}
				found = s.Slept > 0
				if found && (s.Slept < slept || s.Slept > slept+slept/20+10*time.Second) {
					t.Fatalf("slept %v: %+v", slept, s)
				}
				if s.Jumped < 0 || s.Jumped > 0 && read[r] || len(after) >= quorum && !found {
					t.Fatalf("slept %v, seen %v: %+v: %+v", slept, after, r, s)
				}
			}
			m.check(-1)
			m.calm(rapid.IntRange(0, 40).Draw(t, "after"))
		}
	})
}

// calm takes steps that must not show anything.
func (m *model) calm(steps int) {
	for range steps {
		if r, s := m.step(); s != (sighting{}) {
			m.t.Fatalf("%+v: %+v", r, s)
		}
		m.check(-1)
	}
}

// settle notes the replies under way, and then asks some nodes again, by the new clock only.
func (m *model) settle(nodes int) {
	for _, r := range slices.Concat(m.unread, m.unreceived, m.unnoted) {
		if r.micros == 0 {
			m.wait(time.Microsecond)
			m.read(r)
		}
		if r.received.IsZero() {
			m.receive(r)
		}
		if s := m.noteOne(r); s != (sighting{}) {
			m.t.Fatalf("%+v: %+v", r, s)
		}
	}
	m.unread, m.unreceived, m.unnoted = nil, nil, nil
	m.wait(200 * ms)
	for i := range m.nodes {
		if i < nodes || m.seen[i] {
			m.ask(i, ms)
			m.seen[i] = true
		}
	}
	m.check(-1)
}

// knownNow returns which nodes have been seen, and which replies under way have been read. The first replies of a node
// are dropped, so that none of them arrives late without a sign of that.
func (m *model) knownNow() (seen []bool, read map[*request]bool) {
	first := func(r *request) bool { return !m.seen[r.node] }
	m.unread = slices.DeleteFunc(m.unread, first)
	m.unreceived = slices.DeleteFunc(m.unreceived, first)
	m.unnoted = slices.DeleteFunc(m.unnoted, first)
	read = map[*request]bool{}
	for _, r := range slices.Concat(m.unreceived, m.unnoted) {
		read[r] = true
	}
	return slices.Clone(m.seen), read
}
