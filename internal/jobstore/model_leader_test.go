package jobstore_test

import "slices"

// The rules of a leader: the state from which it goes on, what it writes, and when a run starts.

// modelBasis is a state from which a new leader may go on.
type modelBasis struct {
	at    modelAt
	known bool
	older bool // it is not the state that was written last
	floor uint8
	stray bool // no majority vouches for it
}

// bases returns the states from which a new leader may go on, given the promises. The first is the result of Decide, unless that
// is an older state, which is one of the others.
func (w *modelWorld) bases(m *model, ballot, job int) (all []modelBasis) {
	var last modelBasis
	present := 0
	var named, votes [1 << 6]uint8 // nodes that have a state, and nodes that vouch for it, by position
	var vouched []modelAt
	for i := range m.columns {
		k := &m.columns[i].links[ballot-1]
		if !k.received {
			continue
		}
		kind, at := k.jobs[job].kind(), k.jobs[job].at()
		vouches := kind == modelPresent || kind == modelStale && w.without.tag
		if vouches {
			present++
		} else {
			last.floor = max(last.floor, k.floor)
		}
		if kind == modelNone {
			continue
		}
		named[at]++
		if vouches || w.without.olderPresent {
			votes[at]++
			vouched = append(vouched, at)
		}
		if a, b := w.known(at), w.known(last.at); !last.known || a > b || a == b && at > last.at {
			last.known, last.at = true, at
		}
	}
	last.stray = present < modelMajority
	if present >= modelMajority || present > 0 && w.without.floorQuorum || w.without.tickFloor {
		last.floor = 0
	}
	all = append(all, last)
	var second modelAt // if all nodes vouch for their states, one that only one node has was never stored by a majority
	if len(vouched) == modelNodes {
		slices.Sort(vouched)
		second = vouched[modelNodes-modelMajority]
	}
	for at := range last.at {
		equal := w.known(at) == w.known(last.at)
		if named[at] > 0 && (equal || w.without.largest || w.without.olderQuorum) || votes[at] >= modelMajority || len(vouched) == modelNodes && at == second {
			older := last
			older.at, older.older = at, !equal
			all = append(all, older)
		}
	}
	return all
}

// adopt returns the state of a new leader before its first write.
func (w *modelWorld) adopt(m *model, b modelBasis, job int) modelState {
	s := modelState{part: true}
	if b.known {
		s = w.at(m, b.at, job)
	}
	s.mark = max(s.mark, b.floor)
	if w.again || w.ends || w.settings > 0 { // otherwise it does not matter
		s.stray = s.stray || b.stray
	}
	switch {
	case s.open == 0:
	case w.again && w.without.tries:
		s.attempt++
	case w.again:
		s.attempt += modelTries
	default:
		if w.ends {
			s.lost = s.open
		}
		s.open, s.attempt = 0, 0
	}
	return s
}

// lead makes a ballot's leader lead, from a basis for each job.
func (w *modelWorld) lead(m *model, ballot int, bases [modelJobs]modelBasis) {
	l := &m.leaders[ballot-1]
	l.phase, l.before = modelLeads, m.set
	for job := range w.jobs {
		l.state[job] = w.adopt(m, bases[job], job)
	}
	if w.without.pauseKept {
		l.state[0].pause = 0
	}
	m.clear(ballot)
}

// learn makes a leader that a majority has answered go on from the newest setting that may be on a majority, because enough of the
// answering nodes have it, or had it before a newer one.
func (w *modelWorld) learn(m *model, ballot int) {
	l := &m.leaders[ballot-1]
	var set []uint8
	for i := range m.columns {
		if k := &m.columns[i].links[ballot-1]; k.polled {
			set = append(set, k.pause)
			k.polled, k.pause = false, 0
		}
	}
	slices.Sort(set)
	l.asked = true
	l.state[0].pause = max(l.state[0].pause, set[min(len(set), modelMajority)-1])
}

// applied returns the newest setting in the state of an entry.
func (w *modelWorld) applied(m *model, entry modelEntry) uint8 {
	if entry.kind() == modelNone {
		return 0
	}
	return w.at(m, entry.at(), 0).pause
}

// nexts returns the states of a job that a leader may write next. They follow from the last acknowledged state.
func (w *modelWorld) nexts(m *model, ballot, job int) (all []modelState) {
	l := &m.leaders[ballot-1]
	s := l.state[job]
	if w.settings > 0 && !l.asked && !w.without.pauseAsked {
		return nil
	}
	if w.jobs > 1 {
		all = append(all, modelState{}) // the write is about the other job only
	}
	bits := w.slots(job, s)
	takesOver := bits != 0 && l.started&bits == 0
	if takesOver || w.settles && l.seq == 0 {
		all = append(all, s)
	}
	if takesOver {
		return all
	}
	if w.ends && s.open != 0 {
		end := s
		end.ended, end.open, end.attempt = s.open, 0, 0
		return append(all, end)
	}
	if job == 0 && modelIsPause(s.pause) {
		return all
	}
	for tick := int(s.mark) + 1; tick <= w.ticks; tick++ {
		next := s
		next.mark, next.open, next.attempt = uint8(tick), uint8(tick), 1
		all = append(all, next)
	}
	return all
}

// send makes states the leader's newest write. It drops what was not acknowledged of the previous write.
func (m *model) send(ballot int, states [modelJobs]modelState) {
	l := &m.leaders[ballot-1]
	l.writes[l.seq] = states
	l.seq++
	l.done = 0
	m.clear(ballot)
}

// clear drops the answers that the leader has received.
func (m *model) clear(ballot int) {
	for i := range m.columns {
		m.columns[i].links[ballot-1] = modelLink{}
	}
}

// acknowledged records which states of the leader's newest write a node has stored. It reports whether a run has started.
func (w *modelWorld) acknowledged(m *model, i, ballot int, acks uint8) (started bool) {
	l := &m.leaders[ballot-1]
	if w.without.ownJob {
		acks = 1<<w.jobs - 1
	}
	m.columns[i].links[ballot-1].acks |= acks &^ l.done
	need := modelMajority
	if w.without.startQuorum {
		need = 1
	}
	for job := range w.jobs {
		count := 0
		for i := range m.columns {
			count += int(m.columns[i].links[ballot-1].acks >> job & 1)
		}
		if count < need || !l.writes[l.seq-1][job].part {
			continue
		}
		l.done |= 1 << job
		for i := range m.columns {
			m.columns[i].links[ballot-1].acks &^= 1 << job
		}
		started = w.judge(m, ballot, job) || started
	}
	return started
}

// goOn makes a leader go on with a later ballot from its own last acknowledged state. Its earlier ballot is over: later
// acknowledgments under it do not count.
func (m *model) goOn(ballot int) {
	l := &m.leaders[ballot-1]
	old := &m.leaders[l.continues-1]
	m.clear(ballot)
	m.clear(int(l.continues))
	before := *old
	*old = modelLeader{phase: modelOver, continues: before.continues, seq: before.seq, writes: before.writes}
	before.continues, before.seq, before.done, before.writes = l.continues, 0, 0, l.writes
	before.asked = false
	*l = before
}
