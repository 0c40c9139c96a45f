package register_test

import (
	"flag"
	"fmt"
	"maps"
	"testing"
)

var modelDeep = flag.Bool("claims.deep", false,
	"explore claims with more faults at once: a minute or two, and a gigabyte")

// modelRules are rules of the protocol, of which a world may be without some.
type modelRules struct {
	guard            bool // a node that forgot votes again only when it was admitted
	clockOfAdmission bool // it is admitted with its clock + modelAhead at least
	clockOfNew       bool // the same where no quorum knows the job
	guardOfAdmission bool // an admission is for the guard that was seen, and for no later one
	guardFirst       bool // what a node is admitted with is asked for after its guard was seen
	ownRecords       bool // what a node was told is no vote of its own that is asked again
	ownVotesOnly     bool // nor one that it may let be taken over
	promises         bool // a node refuses tokens lower than the highest it knows
	heldPromises     bool // a claim is refused where the leader's promise was forgotten
	votesDropped     bool // a vote does not count when its node may have forgotten it
	votesForGood     bool // votes are never withdrawn
	refusalAhead     bool // no vote further ahead of the node's clock than modelAhead
	attempts         bool // a take-over has to have a higher attempt, whatever run it saw before
	goingOn          bool // a node that voted for a lower term does not end the asking
	quorumMark       bool // only a mark that a quorum has reached is one
}

// modelWorld is what may go wrong, and what must not.
type modelWorld struct {
	without     modelRules
	first, last uint8 // ticks
	clock       uint8 // where the nodes' clocks begin
	stopped     bool  // and stay
	forgets     int   // in all

	// A node that forgets sets its clock back too. Then more is asked of the world: another forgets only when
	// this one was admitted, and that from a quorum of others.
	setBack bool

	takeOver bool // the first tick was won before the two leaders, by one that died
	led      bool // leader 1 leads from the beginning
	alone    bool // leader 1 does nothing
	again    bool // leader 1 may lose its term, and lead once more after leader 2

	// All answers to leader 2 arrive, and it leaves nothing before it has them.
	reliable bool
}

// begin returns the states that all begins with.
func (w modelWorld) begin() []model {
	var m model
	for l := range m.leaders {
		m.leaders[l].promising = true
	}
	for i := range m.columns {
		m.columns[i].known, m.columns[i].clock = true, w.clock
	}
	if w.led {
		m.leaders[0].promising, m.leaders[0].tick, m.leaders[0].asked[w.first] = false, w.first, 1
		for i := range m.columns {
			m.columns[i].promised, m.columns[i].links[0].held = 1, w.names()
		}
	}
	if !w.takeOver {
		return []model{m}
	}
	var all []model
	for i := range m.columns {
		m.columns[i].mark = w.first
		m.columns[i].records[w.first] = modelRecord{attempt: 1, run: modelFormer}
		if i+1 >= modelQuorum {
			all = append(all, m)
		}
	}
	return all
}

// names tells whether claims name the guard of the promise that they rest on. Where clocks are not set back
// nothing rests on promises.
func (w modelWorld) names() bool { return w.setBack && !w.without.heldPromises }

// waits tells whether the leader waits for all answers.
func (w modelWorld) waits(l int) bool { return w.reliable && l == 1 }

// mayForget tells whether the node may forget now, as far as the others are concerned.
func (w modelWorld) mayForget(m *model, node int) bool {
	for i := range m.columns {
		if w.setBack && i != node && !m.columns[i].known {
			return false
		}
	}
	return true
}

// broken names what must not be, if it is.
func (w modelWorld) broken(m *model) string {
	a, b := &m.leaders[0], &m.leaders[1]
	for tick := w.first; tick <= w.last; tick++ {
		switch {
		case a.won[tick] && b.won[tick] && a.asked[tick] == b.asked[tick]:
			return fmt.Sprintf("both leaders run attempt %d at tick %d", a.asked[tick], tick)
		case w.takeOver && (a.won[tick] && a.asked[tick] == 1 || b.won[tick] && b.asked[tick] == 1):
			return fmt.Sprintf("tick %d had been run, and is run for the first time again", tick)
		case m.left == tick:
			return fmt.Sprintf("leader 2 leaves tick %d, for which a quorum would vote", tick)
		case w.alone && b.tick > w.last && !b.won[tick]:
			return fmt.Sprintf("nobody runs tick %d", tick)
		}
	}
	return ""
}

// settled tells that no two leaders can run the tick in the same attempt any more.
func (w modelWorld) settled(m *model, tick uint8) bool {
	a, b := &m.leaders[0], &m.leaders[1]
	if w.takeOver && (a.tick <= tick && a.asked[tick] <= 1 || b.tick <= tick && b.asked[tick] <= 1) {
		return false
	}
	return !a.won[tick] && a.tick > tick || !b.won[tick] && b.tick > tick ||
		a.asked[tick] > 0 && b.asked[tick] > 0 && a.asked[tick] != b.asked[tick]
}

// over tells that nothing can go wrong any more.
func (w modelWorld) over(m *model) bool {
	if w.reliable {
		return m.leaders[1].tick > w.last
	}
	return w.settled(m, w.first) && w.settled(m, w.last)
}

// leave notes whether the leader leaves a tick that a quorum would vote for.
func (w modelWorld) leave(m *model, l int) {
	c := m.leaders[l].claim(l, m.leaders[l].tick)
	c.attempt = max(c.attempt, 1)
	votes := 0
	for i := range m.columns {
		n := m.columns[i].modelNode
		if n.claim(modelRules{}, c) == modelYes {
			votes++
		}
	}
	if w.waits(l) && votes >= modelQuorum {
		m.left = c.tick
	}
}

// Worlds to begin with. Where clocks are kept, an admitted node's mark is above all it forgot, and nothing
// else is needed: not even promises. One tick is then enough, and clocks may stop.
var (
	modelKept      = modelWorld{first: 1, last: 1, stopped: true}
	modelTakenOver = modelWorld{first: 1, last: 1, stopped: true, takeOver: true}
	modelSetBack   = modelWorld{first: 2, last: 2, clock: 1, setBack: true}
	modelReliable  = modelWorld{first: 1, last: 2, clock: 1, reliable: true}
	modelMarkAlone = modelRules{promises: true, votesDropped: true, guardOfAdmission: true}
)

// with returns the world changed.
func (w modelWorld) with(change func(w *modelWorld)) modelWorld {
	change(&w)
	return w
}

func TestModel_NoTickRunsTwice(t *testing.T) {
	worlds := map[string]modelWorld{
		"two ticks":                 {first: 1, last: 2},
		"two ticks, one forgets":    {first: 1, last: 2, clock: 1, forgets: 1},
		"clocks go on, one forgets": {first: 2, last: 2, forgets: 1},
		"two forget, the mark alone": modelKept.with(func(w *modelWorld) {
			w.forgets, w.without = 2, modelMarkAlone
		}),
		"taken over, one forgets, the same": modelTakenOver.with(func(w *modelWorld) {
			w.forgets, w.without = 1, modelMarkAlone
		}),
		"set back, one forgets": modelSetBack.with(func(w *modelWorld) { w.forgets = 1 }),
		"led again, one forgets": modelKept.with(func(w *modelWorld) {
			w.again, w.forgets = true, 1
		}),
		"led again, clocks go on": {first: 2, last: 2, again: true},
	}
	if *modelDeep {
		maps.Copy(worlds, map[string]modelWorld{
			"two ticks, clocks go on, one forgets": {first: 1, last: 2, forgets: 1},
			"two ticks, clocks go on, two forget":  {first: 1, last: 2, forgets: 2},
			"led again, two forget": modelKept.with(func(w *modelWorld) {
				w.again, w.forgets = true, 2
			}),
			"led again, clocks go on, one forgets": {first: 2, last: 2, again: true, forgets: 1},
			"three forget":                         modelKept.with(func(w *modelWorld) { w.forgets = 3 }),
			"taken over, two forget":               modelTakenOver.with(func(w *modelWorld) { w.forgets = 2 }),
			"set back, two forget":                 modelSetBack.with(func(w *modelWorld) { w.forgets = 2 }),
			"set back, taken over, two forget": modelSetBack.with(func(w *modelWorld) {
				w.takeOver, w.forgets = true, 2
			}),
		})
	}
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !w.holds(t) {
				t.Error("the last line must not be")
			}
		})
	}
}

func TestModel_NoTickIsLeftThatCouldBeWon(t *testing.T) {
	for name, w := range map[string]modelWorld{
		"one leader":              modelReliable.with(func(w *modelWorld) { w.alone = true }),
		"after one that may stop": modelReliable,
		"taken over":              modelTakenOver.with(func(w *modelWorld) { w.reliable = true }),
	} {
		t.Run(name, func(t *testing.T) {
			if !w.holds(t) {
				t.Error("the last line must not be")
			}
		})
	}
}

func TestModel_EachRuleIsNeeded(t *testing.T) {
	ahead := modelWorld{first: 2, last: 2, stopped: true}
	setBack := modelSetBack.with(func(w *modelWorld) { w.led = true })
	type removal struct {
		name    string
		without modelRules
		world   modelWorld
		forgets int
	}
	removals := []removal{
		{"a node that forgot votes", modelRules{guard: true}, modelKept, 1},
		{"admitted with the maximum of others alone", modelRules{clockOfAdmission: true}, modelKept, 1},
		{"what no quorum knows is new, from 0 on", modelRules{clockOfNew: true}, modelKept, 2},
		{"a vote far ahead of the clock", modelRules{refusalAhead: true}, ahead, 1},
		{"votes are withdrawn", modelRules{votesForGood: true}, modelKept, 0},
		{"a told record is a vote asked again", modelRules{ownRecords: true}, modelTakenOver, 1},
		{"a told record is a vote asked again in a later term", modelRules{ownRecords: true},
			modelKept.with(func(w *modelWorld) { w.again = true }), 1},
		{"a told record may be taken over", modelRules{ownVotesOnly: true}, modelTakenOver, 1},
		{"no promises", modelRules{promises: true}, setBack, 1},
		{"admitted with what was told before its guard", modelRules{guardFirst: true}, setBack, 1},
		{"a vote counts though it was forgotten", modelRules{votesDropped: true}, setBack, 1},
		{"taken by a lower term ends the asking", modelRules{goingOn: true}, modelReliable, 0},
		{"one node's mark is the mark", modelRules{quorumMark: true}, modelReliable, 0},
		{"a take-over compares runs", modelRules{attempts: true},
			modelTakenOver.with(func(w *modelWorld) { w.reliable = true }), 0},
	}
	if *modelDeep {
		removals = append(removals,
			removal{"admitted under any guard", modelRules{guardOfAdmission: true}, setBack, 2},
			removal{"a promise counts though it was forgotten", modelRules{heldPromises: true}, setBack, 2})
	}
	for _, r := range removals {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := r.world
			w.without, w.forgets = r.without, r.forgets
			if w.holds(t) {
				t.Error("nothing breaks without this rule")
			}
		})
	}
}

// holds explores the world, logs how large it is and what went wrong, and tells whether nothing did.
func (w modelWorld) holds(t *testing.T) bool {
	t.Helper()
	states, trace := w.explore()
	t.Logf("%d states", states)
	for _, line := range trace {
		t.Log(line)
	}
	return trace == nil
}
