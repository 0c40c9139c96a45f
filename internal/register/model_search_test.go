package register_test

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// modelStep is something that happens, for whoever reads a trace.
type modelStep struct {
	leader, node int // -1: none
	what         string
	tick         uint8
	reply        modelReply
	heard        bool
}

func (s modelStep) String() string {
	var b strings.Builder
	switch {
	case s.leader < 0:
		fmt.Fprintf(&b, "node %d ", s.node)
	case s.node < 0:
		fmt.Fprintf(&b, "leader %d ", s.leader+1)
	default:
		fmt.Fprintf(&b, "leader %d, node %d: ", s.leader+1, s.node)
	}
	b.WriteString(s.what)
	if s.tick > 0 {
		fmt.Fprintf(&b, " %d", s.tick)
	}
	if s.reply != "" {
		fmt.Fprintf(&b, ": %s", s.reply)
		if !s.heard {
			b.WriteString(", not heard")
		}
	}
	return b.String()
}

// steps yields all that may happen next.
func (w modelWorld) steps(m *model, yield func(modelStep, model)) {
	for l := range m.leaders {
		if l == 0 && w.alone {
			continue
		}
		if m.leaders[l].tick <= w.last {
			w.decide(m, l, yield)
		}
		for i := range m.columns {
			w.promise(m, l, i, yield)
			for tick := w.first; tick <= w.last; tick++ {
				w.claim(m, l, i, tick, yield)
			}
			w.admission(m, l, i, yield)
		}
	}
	for i := range m.columns {
		if next := *m; !w.stopped && m.columns[i].clock == 0 {
			next.columns[i].clock++
			yield(modelStep{leader: -1, node: i, what: "moves its clock on"}, next)
		}
		if next := *m; int(m.forgot) < w.forgets && w.mayForget(m, i) {
			next.forgot++
			next.columns[i].forget(w.without, w.setBack)
			next.columns[i].expire(w.without)
			yield(modelStep{leader: -1, node: i, what: "forgets"}, next)
		}
	}
}

// decide is what a leader does by itself.
func (w modelWorld) decide(m *model, l int, yield func(modelStep, model)) {
	d := &m.leaders[l]
	act := func(what string, tick uint8, change func(m *model)) {
		next := *m
		change(&next)
		yield(modelStep{leader: l, node: -1, what: what, tick: tick}, next)
	}
	answers := m.count(l, func(k modelLink) bool { return k.knows || k.told || k.vote || k.refused })
	if w.waits(l) && answers < modelNodes {
		return
	}
	known := m.count(l, func(k modelLink) bool { return k.knows })
	for i := range m.columns {
		k := m.columns[i].links[l]
		asked := known >= modelQuorum && (k.earlier || w.without.guardFirst) || !w.setBack
		if k.told && k.admission.token != d.token(l) && asked {
			next := *m
			next.columns[i].links[l].admission = w.compose(m, l)
			yield(modelStep{leader: l, node: i, what: "admission sent"}, next)
		}
	}
	if w.again && l == 0 && !d.again && d.tick > 0 && !d.won[d.tick] {
		act("loses its term, and leads again", 0, func(m *model) {
			m.leaders[l].again, m.leaders[l].tick = true, 0
			m.ask(w.without, l)
		})
	}
	toldNow := m.count(l, func(k modelLink) bool { return k.told && !k.earlier }) > 0
	switch {
	case d.promising && known >= modelQuorum:
		act("leads", 0, func(m *model) { w.lead(m, l) })
	case !d.promising:
		act("gives up tick", d.tick, func(m *model) { w.leave(m, l); w.next(m, l) })
		if w.without.votesForGood && d.tick == w.first && !d.withdrew {
			act("takes back its votes for tick", d.tick, func(m *model) {
				m.leaders[l].withdrew = true
				for i := range m.columns {
					m.columns[i].links[l].vote = false
				}
			})
		}
	}
	if w.setBack && (toldNow || !d.promising) {
		act("asks for promises anew", 0, func(m *model) { m.ask(w.without, l) })
	}
}

// compose makes of the answers what a node that forgot has to know.
func (w modelWorld) compose(m *model, l int) modelAdmission {
	a := modelAdmission{token: m.leaders[l].token(l), bare: w.without.clockOfAdmission}
	for i := range m.columns {
		if k := &m.columns[i].links[l]; k.knows {
			a.mark = max(a.mark, k.mark)
			a.records.merge(k.records)
		}
	}
	if m.count(l, func(k modelLink) bool { return k.told }) >= modelQuorum && w.without.clockOfNew {
		a.mark, a.bare = 0, true
	}
	return a
}

// promise has the node handle the leader's request for a promise.
func (w modelWorld) promise(m *model, l, i int, yield func(modelStep, model)) {
	if m.leaders[l].again {
		late := *m
		n := &late.columns[i].modelNode
		was := *n
		if reply := n.promise(w.without, uint8(l+1)); *n != was {
			yield(modelStep{leader: l, node: i, what: "late promise", reply: reply}, late)
		}
	}
	next := *m
	n, k := &next.columns[i].modelNode, &next.columns[i].links[l]
	was := *n
	step := modelStep{leader: l, node: i, what: "promise"}
	step.reply = n.promise(w.without, m.leaders[l].token(l))
	if *n != was && !w.waits(l) {
		yield(step, next)
	}
	if !m.leaders[l].promising || step.reply == modelNo {
		return
	}
	k.knows, k.told = step.reply == modelYes, step.reply == modelUnknown
	if k.knows {
		k.mark, k.earlier, k.held = was.mark, false, w.names()
		if w.takeOver || w.again {
			k.records = was.records
		}
	} else {
		k.mark, k.records = 0, modelRecords{}
		k.vote = k.vote && w.without.votesDropped
	}
	step.heard = true
	yield(step, next)
}

// claim has the node handle the leader's claim of the tick, if it made one.
func (w modelWorld) claim(m *model, l, i int, tick uint8, yield func(modelStep, model)) {
	d := &m.leaders[l]
	if d.asked[tick] == 0 || w.names() && !m.columns[i].links[l].held {
		return
	}
	next := *m
	n, k := &next.columns[i].modelNode, &next.columns[i].links[l]
	was := *n
	step := modelStep{leader: l, node: i, what: "vote for tick", tick: tick}
	if d.withdrew && tick == w.first {
		n.withdraw(tick, uint8(l+1))
		if *n != was {
			yield(modelStep{leader: l, node: i, what: "vote withdrawn"}, next)
			*n = was
		}
	}
	if d.again {
		late := d.claim(l, tick)
		late.token = uint8(l + 1)
		if reply := n.claim(w.without, late); *n != was {
			yield(modelStep{leader: l, node: i, what: "late vote for tick", tick: tick, reply: reply}, next)
			*n = was
		}
	}
	step.reply = n.claim(w.without, d.claim(l, tick))
	waited := !d.promising && d.tick == tick
	if *n != was && !(waited && w.waits(l)) {
		yield(step, next)
	}
	switch {
	case !waited:
		return
	case step.reply == modelYes:
		k.vote, k.told, k.earlier = true, false, false
		if next.count(l, func(k modelLink) bool { return k.vote }) >= modelQuorum {
			next.leaders[l].won[tick] = true
			w.next(&next, l)
		}
	case step.reply == modelUnknown && !w.setBack: // else it is told when it asks for promises anew
		k.told, k.vote = true, k.vote && w.without.votesDropped
	case step.reply == modelNo && w.waits(l):
		k.refused = true
		if w.without.goingOn {
			w.leave(&next, l)
			w.next(&next, l)
		}
	default:
		return
	}
	step.heard = true
	yield(step, next)
}

func (d *modelLeader) claim(l int, tick uint8) modelClaim {
	return modelClaim{token: d.token(l), run: uint8(l + 1), tick: tick, attempt: d.asked[tick], over: d.over}
}

// admission has the node handle one that was sent to it.
func (w modelWorld) admission(m *model, l, i int, yield func(modelStep, model)) {
	a := m.columns[i].links[l].admission
	if a.token == 0 || m.columns[i].known {
		return
	}
	next := *m
	next.columns[i].admit(w.without, a)
	next.columns[i].expire(w.without)
	yield(modelStep{leader: l, node: i, what: "admitted"}, next)
}

var modelSeed = maphash.MakeSeed()

// canonical returns the same state with its nodes in order, for they are all alike, and without what cannot
// matter any more.
func (w modelWorld) canonical(m model) model {
	if settled := w.settled(&m, w.first); !w.takeOver && !w.reliable {
		for i := range m.columns {
			m.columns[i].admission = 0
			if settled {
				m.columns[i].records[w.first] = modelRecord{}
			}
		}
		for l := range m.leaders {
			m.leaders[l].won[w.first] = m.leaders[l].won[w.first] && !settled
		}
	}
	var keys [modelNodes]uint64
	for i := range m.columns {
		keys[i] = maphash.Comparable(modelSeed, m.columns[i])
	}
	for _, p := range [][2]int{{0, 1}, {1, 2}, {0, 1}} {
		if keys[p[0]] > keys[p[1]] {
			keys[p[0]], keys[p[1]] = keys[p[1]], keys[p[0]]
			m.columns[p[0]], m.columns[p[1]] = m.columns[p[1]], m.columns[p[0]]
		}
	}
	return m
}

// explore looks at every state that can be reached, the near ones first, and stops at one that must not be.
// It returns how many it saw, and the shortest way there.
func (w modelWorld) explore() (states int, trace []string) {
	var all []model
	var from []int // the index of the state before
	seen := make(map[model]struct{})
	found := -1
	add := func(m model, before int) {
		m = w.canonical(m)
		if _, ok := seen[m]; ok || found >= 0 {
			return
		}
		seen[m] = struct{}{}
		all, from = append(all, m), append(from, before)
		if w.broken(&m) != "" {
			found = len(all) - 1
		}
	}
	for _, m := range w.begin() {
		add(m, -1)
	}
	for i := 0; i < len(all) && found < 0; i++ {
		if m := all[i]; !w.over(&m) {
			w.steps(&m, func(_ modelStep, next model) { add(next, i) })
		}
	}
	if found < 0 {
		return len(all), nil
	}
	var path []model
	for i := found; i >= 0; i = from[i] {
		path = append(path, all[i])
	}
	slices.Reverse(path)
	return len(all), w.tell(path)
}

// tell goes the way once more, with each node under one name, and says what happens.
func (w modelWorld) tell(path []model) (trace []string) {
	at := path[0]
	for _, to := range path[1:] {
		var next *model
		w.steps(&at, func(s modelStep, m model) {
			if next == nil && w.canonical(m) == to {
				next = &m
				trace = append(trace, s.String())
			}
		})
		at = *next
	}
	return append(trace, w.broken(&at))
}
