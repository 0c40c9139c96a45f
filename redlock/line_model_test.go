package redlock_test

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// isFree reports whether nobody holds the lock, and no majority says that somebody does.
func (w *modelWorld) isFree(s *modelState) bool {
	for p := range w.procs {
		n := 0
		for i := range w.nodes {
			if s.nodes[i].held() && s.nodes[i].value.proc() == p {
				n++
			}
		}
		if s.procs[p].phase == modelHolding || n >= w.need() {
			return false
		}
	}
	return true
}

func (w *modelWorld) tick(s *modelState) {
	waits := false
	for p := range w.procs {
		q := &s.procs[p]
		for i := range w.nodes {
			for j := range q.sent[i] {
				q.sent[i][j].age = q.sent[i][j].kind != 0
			}
		}
		for j := range q.messages {
			q.messages[j].age = q.messages[j].value != 0
		}
		for i := range q.more {
			q.more[i] = min(q.more[i], max(q.more[i]-1, 1))
		}
		if q.phase == modelWaiting || q.phase == modelHolding {
			q.timer--
		}
		waits = waits || q.phase == modelAsking || q.phase == modelWaiting
	}
	for i := range w.nodes {
		n := &s.nodes[i]
		n.left = max(n.left-1, -modelLong)
		for k := range n.n {
			n.line[k].until = max(n.line[k].until-1, 0)
		}
		if q := n.value; n.held() && s.procs[q.proc()].phase == modelHolding && n.left <= modelLease/2 {
			n.left = modelLease // the holder extends its lease
		}
	}
	if s.idle++; !waits || !w.isFree(s) {
		s.idle = 0
	}
}

// breach returns what must not be.
func (w *modelWorld) breach(s *modelState) string {
	if s.idle > w.idle {
		return fmt.Sprintf("idle: the lock is free for %d ticks while somebody waits", s.idle)
	}
	holders := 0
	for p := range w.procs {
		if s.procs[p].phase == modelHolding {
			holders++
		}
		if holders > 1 && w.faults.step == 0 {
			return "two processes hold the lock"
		}
		if s.procs[p].overtaken > w.over {
			return fmt.Sprintf("order: %d others got the lock while process %d waits", s.procs[p].overtaken, p)
		}
	}
	return ""
}

// search visits every state, and returns the shortest way to a breach.
func (w *modelWorld) search() (states int, breach string, trace []string) {
	seed := maphash.MakeSeed()
	first := w.start()
	came := map[uint64]uint64{maphash.Comparable(seed, first): 0}
	level := []modelState{first}
	for len(level) > 0 && breach == "" {
		var next []modelState
		for _, s := range level {
			from := maphash.Comparable(seed, s)
			w.each(s, func(_ string, _, _ int, n *modelState) bool {
				h := maphash.Comparable(seed, *n)
				if _, seen := came[h]; seen {
					return true
				}
				came[h] = from
				if breach = w.breach(n); breach != "" {
					trace = w.trace(seed, came, h)
					return false
				}
				next = append(next, *n)
				return true
			})
			if breach != "" {
				break
			}
		}
		level = next
	}
	return len(came), breach, trace
}

// trace returns the steps to a state.
func (w *modelWorld) trace(seed maphash.Seed, came map[uint64]uint64, to uint64) (lines []string) {
	var way []uint64
	for h := to; h != 0; h = came[h] {
		way = append(way, h)
	}
	s := w.start()
	for k := len(way) - 2; k >= 0; k-- {
		w.each(s, func(what string, p, i int, n *modelState) bool {
			if maphash.Comparable(seed, *n) != way[k] {
				return true
			}
			lines = append(lines, fmt.Sprintf("process %d, node %d: %s", p, i, what))
			s = *n
			return false
		})
	}
	return lines
}

// walk takes one random way, and returns what it cost.
func (w *modelWorld) walk(rng *rand.Rand) (requests, holds int, breach string) {
	s := w.start()
	for {
		var next modelState
		n, what := 0, ""
		w.each(s, func(does string, _, _ int, to *modelState) bool {
			if n++; rng.IntN(n) == 0 {
				next, what = *to, does
			}
			return true
		})
		switch {
		case n == 1 && what == modelTicks && next == s: // all have what they want
			return requests, holds, ""
		case what == "handles":
			requests++
		case what == "releases":
			holds++
		}
		s = next
		if breach := w.breach(&s); breach != "" {
			return requests, holds, breach
		}
	}
}

// modelWorlds have no breach: with all rules, the lock is idle for at most so many ticks while somebody waits, and at
// most so many others get it before one that waits. Their names are those of the faults in them.
var modelWorlds = map[string]modelWorld{
	// A tick of idleness where a majority is split, and the time of requests under way; 0 on one node.
	"one node":                {nodes: 1, procs: 3, hold: 2, wants: [5]uint8{2, 1, 1}, idle: 0, over: 2},
	"one node, a delay":       {nodes: 1, procs: 3, hold: 2, wants: [5]uint8{2, 1, 1}, delay: true, idle: 2, over: 3},
	"two who come again":      {nodes: 1, procs: 4, hold: 2, queued: true, wants: [5]uint8{3, 2, 1, 1}, idle: 0, over: 3},
	"five in line":            {nodes: 1, procs: 5, hold: 2, queued: true, idle: 0, over: 3},
	"three nodes":             {nodes: 3, procs: 2, hold: 2, wants: [5]uint8{3, 1}, idle: 1, over: 1},
	"three nodes, a delay":    {nodes: 3, procs: 2, hold: 2, delay: true, idle: 3, over: 1},
	"three nodes, two orders": {nodes: 3, procs: 3, hold: 2, queued: true, crossed: true, idle: 1, over: 1},
	"a long hold": {nodes: 1, procs: 4, hold: 14, queued: true, wants: [5]uint8{2, 1, 1, 1},
		idle: 0, over: 3},
	"the dead":              {nodes: 1, procs: 4, hold: 2, queued: true, dead: 2, idle: 0},
	"the dead of a cluster": {nodes: 1, procs: 4, hold: 20, queued: true, dead: 2, cluster: true, idle: 0},
	"three nodes, a clock is stepped": {nodes: 3, procs: 3, hold: 2, queued: true,
		faults: modelFaults{step: 1}, idle: 1, over: 1},
	"three nodes, a line is lost": {nodes: 3, procs: 3, hold: 2, queued: true,
		faults: modelFaults{flush: 1}, idle: 1, over: 1},

	// One tick for each place whose process does not come.
	"one hangs": {nodes: 1, procs: 4, hold: 2, queued: true, faults: modelFaults{hang: 1}, idle: 1, over: 2},
	"two leave": {nodes: 1, procs: 4, hold: 2, queued: true, faults: modelFaults{end: 2}, idle: 0, over: 2},
	"one stops waiting, and waits again": {nodes: 1, procs: 3, hold: 4, queued: true, again: true,
		faults: modelFaults{end: 1}, idle: 0, over: 2},
	"one crashes, a request is lost": {nodes: 1, procs: 3, hold: 14, queued: true, wants: [5]uint8{2, 1, 1},
		faults: modelFaults{crash: 1, lose: 1}, idle: 2, over: 2},
	"one loses its connection": {nodes: 1, procs: 4, hold: 2, queued: true, faults: modelFaults{reset: 1}, idle: 1, over: 2},
	"a clock is stepped":       {nodes: 1, procs: 4, hold: 2, queued: true, faults: modelFaults{step: 1}, idle: 0, over: 2},

	// A hold that one node names is asked about again.
	"three nodes, one hangs": {nodes: 3, procs: 2, hold: 14, queued: true, wants: [5]uint8{2, 1},
		faults: modelFaults{hang: 1}, idle: modelConfirm, over: 1},

	// Who releases has two more told.
	"two hang": {nodes: 1, procs: 5, hold: 2, queued: true, faults: modelFaults{hang: 2}, idle: modelMoreAfter, over: 3},

	// The end of the hold as it was known, and one tick for each place: the hold lasts 2 of 8 ticks.
	"a message is lost": {nodes: 1, procs: 5, hold: 2, queued: true,
		faults: modelFaults{mute: 1}, idle: modelLease - 2, over: 3},
	"the line is lost": {nodes: 1, procs: 4, hold: 2, queued: true,
		faults: modelFaults{flush: 1}, idle: modelLease - 2, over: 2},
	// Two ticks more where one node of the line is asked, and not both.
	"three nodes, a reply and a message are lost": {nodes: 3, procs: 3, hold: 2, queued: true,
		faults: modelFaults{lose: 1, mute: 1}, idle: modelLease, over: 1},
}

// modelDeep are larger.
var modelDeep = map[string]modelWorld{
	"three nodes, three in line, a delay": {nodes: 3, procs: 3, hold: 2, queued: true, delay: true, idle: 7, over: 1},
	"three nodes, two who come again":     {nodes: 3, procs: 2, hold: 2, wants: [5]uint8{3, 2}, idle: 1, over: 1},
	"three nodes, one ends, a message is lost": {nodes: 3, procs: 3, hold: 2, queued: true,
		faults: modelFaults{end: 1, mute: 1}, idle: modelLease + 1, over: 1},
	"three nodes, two orders, one crashes, one ends": {nodes: 3, procs: 3, hold: 2, queued: true, crossed: true,
		faults: modelFaults{crash: 1, end: 1}, idle: 2, over: 1},
}

// A live waiter gets the lock soon after it is free, and in its turn.
func TestModel_NobodyWaitsForAFreeLock(t *testing.T) {
	worlds := maps.Clone(modelWorlds)
	if *plans >= 1000 { // make soak
		maps.Copy(worlds, modelDeep)
	}
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := time.Now()
			states, breach, trace := w.search()
			t.Logf("%d states, %v", states, time.Since(at).Round(time.Millisecond))
			for _, line := range trace {
				t.Log(line)
			}
			if breach != "" {
				t.Error(breach)
			}
		})
	}
}

// Each rule is needed: without it, a world has a breach, or a hold costs more requests.
func TestModel_RulesOfTheLineAreNeeded(t *testing.T) {
	walked := map[string]modelWorld{
		"busy": {nodes: 3, procs: modelProcs, hold: 1, wants: [5]uint8{20, 20, 20, 20, 20}, idle: 3, over: 30},
		"long": {nodes: 3, procs: 2, hold: 100, queued: true, idle: 3, over: 30},
	}
	cost := func(w modelWorld) float64 {
		rng, requests, holds := rand.New(rand.NewPCG(1, 2)), 0, 0
		for range 10 {
			r, h, breach := w.walk(rng)
			requests, holds = requests+r, holds+h
			if breach != "" {
				t.Error(breach)
			}
		}
		return float64(requests)/float64(holds) - 2*modelNodes
	}
	for _, need := range []struct {
		rule  modelRules
		what  string
		world string // in which there is a breach without the rule; busy and long: it saves requests
		kind  string // of the breach
	}{
		{modelPlaces, "places", "two who come again", "order"},
		{modelRefresh, "refresh", "a long hold", "idle"},
		{modelExpire, "expire", "the dead of a cluster", "idle"},
		{modelHeard, "heard", "the dead", "idle"},
		{modelSecond, "second", "one hangs", "idle"},
		{modelFailed, "failed", "one crashes, a request is lost", "idle"},
		{modelLeave, "leave", "two leave", "idle"},
		{modelKeep, "keep", "one stops waiting, and waits again", "idle"},
		{modelAsk, "ask", "three nodes, one hangs", "idle"},
		{modelMissed, "missed", "one loses its connection", "idle"},
		{modelBack, "back", "a clock is stepped", "idle"},
		{modelOwn, "own", "busy", ""},
		{modelAnew, "anew", "three nodes", "order"},
		{modelRequeue, "requeue", "busy", ""},
		{modelFirst, "first", "busy", ""},
		{modelHint, "hint", "busy", ""},
		{modelAgain, "again", "long", ""},
		{modelMore, "more", "two hang", "idle"},
	} {
		t.Run(need.what, func(t *testing.T) {
			if w, walks := walked[need.world]; walks {
				with := cost(w)
				w.without = need.rule
				without := cost(w)
				t.Logf("%.1f extra requests a hold, %.1f without it", with, without)
				if without < with+2 {
					t.Errorf("it saves only %.1f requests a hold", without-with)
				}
				return
			}
			w, known := modelWorlds[need.world]
			w.without = need.rule
			_, breach, trace := w.search()
			t.Logf("after %d steps: %s", len(trace), breach)
			if !known || !strings.HasPrefix(breach, need.kind) {
				t.Errorf("want a breach: %s", need.kind)
			}
		})
	}
}
