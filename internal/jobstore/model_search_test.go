package jobstore_test

import (
	"hash/maphash"
	"slices"
	"time"
)

// modelLimit bounds the visited states of a world, which take a few gigabytes.
const modelLimit = 15_000_000

// modelSeed is for the fingerprints of states. The probability that two of a million states have the same fingerprint is 1 in 30
// million.
var modelSeed = maphash.MakeSeed()

// modelSearch visits every reachable state, the nearest first.
type modelSearch struct {
	world   modelWorld
	seen    map[uint64]struct{}
	prints  []uint64          // of the states, in the order in which they were found
	from    []int32           // for each state the previous one; -1: none
	next    []model           // found and not visited yet
	reached [modelEvents]bool // events that have occurred
	found   int               // the state with a breach; -1: none
}

// modelResult is the result of a search.
type modelResult struct {
	states  int
	took    time.Duration
	reached [modelEvents]bool
	trace   []string // the shortest way to a breach; nil: there is none
}

// search visits the states of a world, and stops at a breach.
func (w modelWorld) search() modelResult {
	s := &modelSearch{world: w, seen: make(map[uint64]struct{}), found: -1}
	for _, m := range w.begin() {
		s.add(m, -1)
	}
	for first := 0; len(s.next) > 0 && s.found < 0; {
		level := s.next
		s.next = nil
		for i := range level {
			w.steps(&level[i], func(step modelStep, m model) {
				s.reached[step.event] = true
				s.add(m, int32(first+i))
			})
		}
		first += len(level)
	}
	r := modelResult{states: len(s.prints), reached: s.reached}
	if s.found >= 0 {
		r.trace = s.trace()
	}
	return r
}

// add adds a state, unless it was found before.
func (s *modelSearch) add(m model, from int32) {
	m.sort()
	print := maphash.Comparable(modelSeed, m)
	if _, ok := s.seen[print]; ok || s.found >= 0 {
		return
	}
	if len(s.prints) == modelLimit {
		panic("this world of the model is too large")
	}
	s.seen[print] = struct{}{}
	s.prints, s.from, s.next = append(s.prints, print), append(s.from, from), append(s.next, m)
	if m.broken != modelNoBreach {
		s.found = len(s.prints) - 1
	}
}

// fingerprint returns the fingerprint of the state with its nodes sorted.
func (m model) fingerprint() uint64 {
	m.sort()
	return maphash.Comparable(modelSeed, m)
}

// sort sorts the nodes, by fingerprints. They are interchangeable, so states that differ only in their order count as one.
func (m *model) sort() {
	var prints [modelNodes]uint64
	for i := range m.columns {
		prints[i] = maphash.Comparable(modelSeed, m.columns[i])
	}
	for _, p := range [][2]int{{0, 1}, {1, 2}, {0, 1}} {
		if a, b := p[0], p[1]; prints[b] < prints[a] {
			prints[a], prints[b] = prints[b], prints[a]
			m.columns[a], m.columns[b] = m.columns[b], m.columns[a]
		}
	}
}

func modelBit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// trace takes the way to the found state once more, without renaming nodes, and describes each step.
func (s *modelSearch) trace() (lines []string) {
	var path []uint64
	for i := int32(s.found); i >= 0; i = s.from[i] {
		path = append(path, s.prints[i])
	}
	slices.Reverse(path)
	var at model
	for _, m := range s.world.begin() {
		if m.fingerprint() == path[0] {
			at, lines = m, append(lines, s.world.describe(&m))
		}
	}
	for _, to := range path[1:] {
		var next *model
		s.world.steps(&at, func(step modelStep, m model) {
			if next == nil && m.fingerprint() == to {
				next, lines = &m, append(lines, step.String()+s.world.detail(step, &m))
			}
		})
		at = *next
	}
	return append(lines, modelBreaches[at.broken])
}
