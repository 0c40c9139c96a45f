package nodeclock_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A jump back is that of one server, or another server comes, which may have older data.
func TestDistrust_AfterAJumpBack(t *testing.T) {
	type look struct {
		after  time.Duration // since the last one
		jump   time.Duration // meanwhile
		server uint64
		trust  bool
	}
	for name, looks := range map[string][]look{
		"of one server":                      {{0, 0, 1, true}, {ms, -time.Hour, 1, true}},
		"of servers that hide who they are":  {{0, 0, 0, true}, {ms, -20 * ms, 0, false}, {quarantine, 0, 0, true}},
		"to another server":                  {{0, 0, 1, true}, {ms, -20 * ms, 2, false}, {quarantine, 0, 2, true}},
		"and then to another server":         {{0, 0, 1, true}, {ms, -20 * ms, 1, true}, {time.Second, 0, 2, false}, {quarantine, 0, 2, true}},
		"and much later to another server":   {{0, 0, 1, true}, {ms, -20 * ms, 1, true}, {quarantine, 0, 2, true}},
		"to another server, and once more":   {{0, 0, 1, true}, {ms, -20 * ms, 2, false}, {ms, -20 * ms, 2, false}, {quarantine, 0, 2, true}},
		"of a server that says later who":    {{0, 0, 1, true}, {ms, -20 * ms, 0, true}, {ms, 0, 1, true}, {ms, 0, 2, false}},
		"of a server not known before":       {{0, 0, 0, true}, {ms, -20 * ms, 2, false}, {quarantine, 0, 2, true}},
		"to another server, and forward":     {{0, 0, 1, true}, {ms, -time.Hour, 2, false}, {ms, 20 * ms, 2, false}, {quarantine / 2, 0, 2, false}},
		"forward to another server":          {{0, 0, 1, true}, {ms, time.Hour, 2, false}, {quarantine, 0, 2, true}},
		"by less than what the replies show": {{0, 0, 1, true}, {ms, -ms, 2, true}},
		"of a server that came before it":    {{0, 0, 1, true}, {ms, 0, 2, true}, {ms, -20 * ms, 2, false}, {quarantine, 0, 2, true}},
		"of a server that came much earlier": {{0, 0, 1, true}, {ms, 0, 2, true}, {quarantine, -20 * ms, 2, true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3)
			for i, l := range looks {
				w.pass(l.after)
				w.nodes[0], w.servers[0] = w.nodes[0]+l.jump, l.server
				w.ask(0, ms)
				if err := w.distrust(0); (err == nil) != l.trust {
					t.Errorf("poll %d: %v", i, err)
				}
			}
		})
	}
}

// A record that is still there since before a jump forward has not ended early, and nobody else has had the vote since.
// That does not hold for a record that came while an earlier jump mattered, because it may have replaced another one.
func TestDistrust_OfARecordFromBeforeTheJumpForward(t *testing.T) {
	w := newWorld(3)
	w.askAll(t)
	before := w.instant()
	trusts := func(placed time.Time, want bool) {
		t.Helper()
		if err := w.Distrust(0, w.instant(), placed); (err == nil) != want {
			t.Errorf("placed %v before now: %v", w.instant().Sub(placed), err)
		}
	}
	w.nodes[0] += 50 * ms
	w.ask(0, ms)
	trusts(before, true)
	trusts(w.instant(), false)
	w.pass(ms)
	meanwhile := w.instant()
	w.pass(ms)
	w.nodes[0] += 50 * ms
	w.ask(0, ms)
	trusts(before, true)
	trusts(meanwhile, false)

	w.pass(quarantine)
	w.ask(0, ms)
	trusts(w.instant(), true)
	between := w.instant()
	w.pass(ms)
	w.nodes[0] += 50 * ms
	w.ask(0, ms)
	trusts(meanwhile, true) // what it replaced has ended
	trusts(between, true)
	trusts(w.instant(), false)

	w.servers[0] = 1
	w.ask(0, ms)
	w.nodes[0], w.servers[0] = w.nodes[0]-50*ms, 2
	w.ask(0, ms)
	trusts(before, false)
}

// A slow reply of the new server hides that its clock is behind, the next one shows it.
func TestDistrust_OfAServerWhoseFirstReplyWasSlow(t *testing.T) {
	w := newWorld(3)
	w.servers[0] = 1
	w.ask(0, ms)
	w.nodes[0], w.servers[0] = w.nodes[0]-100*ms, 2
	w.ask(0, 300*ms)
	w.jumped(t, 0, 0)
	w.ask(0, ms)
	w.jumped(t, 0, -100*ms)
	w.pass(quarantine)
	w.jumped(t, 0, 0)
}

// Each server of a node may have data as old as any instant before it came. So a lease that had run out on an earlier
// server may last again at an instant at which the clock is behind that. An extension that does not count makes it last
// longer, so what matters is that there was such an instant.
func TestModel_NoVoteOfANodeThatBringsALeaseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(3)
		w.servers[0] = 1
		w.ask(0, ms)
		const hidden = 50 * ms // by the width of the intervals
		type instant struct {
			process, node time.Duration
			server        uint64
		}
		history := []instant{{w.now, w.nodes[0], 1}}
		brought := -quarantine // when the latest instant was that may have brought a lease back
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			w.pass(time.Duration(rapid.IntRange(1, 2000).Draw(t, "pass")) * ms)
			if rapid.Bool().Draw(t, "jumps") {
				w.nodes[0] += time.Duration(rapid.IntRange(-6000, 3000).Draw(t, "jump")) * ms
			}
			if rapid.IntRange(0, 3).Draw(t, "changes") == 0 {
				w.servers[0]++
			}
			if rapid.IntRange(0, 3).Draw(t, "slow") == 0 {
				w.ask(0, time.Duration(rapid.IntRange(1, 3000).Draw(t, "rtt"))*ms)
				continue
			}
			w.ask(0, ms)
			now := instant{w.now, w.nodes[0], w.servers[0]}
			for _, before := range history {
				if before.server != now.server && before.node > now.node+hidden {
					brought = max(brought, before.process)
				}
			}
			history = append(history, now)
			if w.now < brought+quarantine && w.distrust(0) == nil {
				t.Fatalf("it votes: %v", history)
			}
		}
	})
}

// A record that was set at any earlier instant runs out now. If jumps that were seen have ended it too early for its
// holder, the node has no vote.
func TestModel_NoVoteOfANodeThatEndsALeaseTooEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(3)
		w.servers[0] = 1
		w.ask(0, ms)
		const hidden = 50 * ms // by the width of the intervals
		type instant struct{ process, node time.Duration }
		var history []instant
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			w.pass(time.Duration(rapid.IntRange(1, 2000).Draw(t, "pass")) * ms)
			history = append(history, instant{w.now, w.nodes[0]})
			if rapid.Bool().Draw(t, "jumps") {
				w.nodes[0] += time.Duration(rapid.IntRange(-300, 300).Draw(t, "jump")) * ms
			}
			w.ask(0, ms)
			early := false
			for _, set := range history {
				lasted, lease := w.now-set.process, w.nodes[0]-set.node
				early = early || lease <= quarantine && lasted+time.Duration(spare*float64(lease))+hidden < lease
			}
			if early && w.distrust(0) == nil {
				t.Fatalf("it votes: %v", history)
			}
		}
	})
}

func TestDistrust_AfterAJumpForwardIsNoLongerThanForLeasesThatItHarms(t *testing.T) {
	w := newWorld(3)
	w.askAll(t)
	jump := func(by time.Duration) (left time.Duration) {
		w.nodes[0] += by
		w.ask(0, ms)
		for ; w.distrust(0) != nil; left += 10 * ms {
			w.pass(10 * ms)
		}
		return left
	}
	for _, by := range []time.Duration{10 * ms, 100 * ms, time.Second} {
		least := time.Duration(float64(by) / spare)
		if got := jump(by); got < min(least, quarantine) || got > min(least+200*ms, quarantine+10*ms) {
			t.Errorf("after a jump by %v: %v", by, got)
		}
	}
}
