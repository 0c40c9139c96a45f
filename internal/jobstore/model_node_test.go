package jobstore_test

// The rules of a node, as in prepare.lua and write.lua.

// reaches reports whether the node's clock has reached an instant. If clocks are not stepwise, it moves the clock there.
func (w *modelWorld) reaches(n *modelNode, instant uint8) bool {
	if instant <= n.clock+modelAhead {
		return true
	}
	if w.stepwise {
		return false
	}
	n.clock = instant - modelAhead
	return true
}

// serves reports whether the node serves a ballot that was taken at an instant.
func (w *modelWorld) serves(n *modelNode, taken uint8) bool {
	if taken <= n.floor && !w.without.ballotFloor {
		return false
	}
	return w.without.ballotAhead || w.reaches(n, taken)
}

// prepare makes the node promise a ballot. same reports whether the node's previous promise was to an earlier ballot of the same
// leader, in the same incarnation.
func (w *modelWorld) prepare(m *model, i, ballot int) (same, ok bool) {
	n := &m.columns[i].modelNode
	if int(n.promised) > ballot && !w.without.promiseOnPrepare || !w.serves(n, m.times[ballot-1]) {
		return false, false
	}
	continues := m.leaders[ballot-1].continues
	same = w.isOwn(ballot, n.promised) || w.isOwn(ballot, n.kept) && w.without.reballotPresent
	n.promised, n.kept = uint8(ballot), 0
	return continues != 0 && same, true
}

// isOwn reports whether a promised ballot is an earlier one under which the same leader has led. A ballot that it only asked for
// counts if that rule is missing.
func (w *modelWorld) isOwn(ballot int, promised uint8) bool {
	if promised == 0 {
		return false
	}
	for b := w.continues[ballot-1]; b != 0; b = w.continues[b-1] {
		if promised == b {
			return true
		}
	}
	return w.without.reballotLed && int(promised) < ballot && w.tried[promised-1] && w.continues[promised-1] == w.continues[ballot-1]
}

// write makes the node store the states of a write. It returns the jobs whose states are stored, now or before.
func (w *modelWorld) write(m *model, i, ballot, seq int) (acks uint8, ok bool) {
	n := &m.columns[i].modelNode
	if int(n.promised) > ballot && !w.without.promiseOnWrite || !w.serves(n, m.times[ballot-1]) {
		return 0, false
	}
	n.kept = 0
	if !w.without.writePromises {
		n.promised = uint8(ballot)
	}
	for job, state := range m.leaders[ballot-1].writes[seq-1] {
		if state.part && w.store(n, job, modelAtOf(ballot, seq), state) {
			acks |= 1 << job
		}
	}
	return acks, true
}

// store makes the node store the state of one job. It reports whether the state is stored, now or before.
func (w *modelWorld) store(n *modelNode, job int, at modelAt, state modelState) bool {
	has := n.jobs[job]
	if has.kind() == modelPresent && has.at().ballot() == at.ballot() {
		switch has, at := w.known(has.at()), w.known(at); {
		case has == at:
			return true
		case has > at && !w.without.order:
			return false
		}
	}
	if !w.without.markAhead && !w.reaches(n, state.mark) {
		return false
	}
	n.jobs[job] = modelEntryOf(modelPresent, at)
	return true
}

// known returns a position as the nodes know it: with the sequence number that the leader gave to the write.
func (w *modelWorld) known(at modelAt) modelAt {
	if at != 0 && w.without.newSeq {
		return modelAtOf(at.ballot(), 1)
	}
	return at
}

// lose makes the node lose its state. It comes back with the given entries of the jobs, promise in its old header, and setting.
func (w *modelWorld) lose(m *model, i int, entries [modelJobs]modelEntry, kept, pause uint8) {
	n := &m.columns[i].modelNode
	m.losses++
	m.unset = m.unset || max(n.pause, w.applied(m, n.jobs[0])) > max(pause, w.applied(m, entries[0]))
	*n = modelNode{clock: n.clock, floor: n.clock + modelAhead, kept: kept, pause: pause, jobs: entries}
}
