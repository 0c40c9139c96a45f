package jobstore_test

// Faults of nodes, and settings.

// faults yields the faults of a node.
func (w *modelWorld) faults(m *model, i int, yield func(modelStep, model)) {
	n := &m.columns[i].modelNode
	if w.stepwise && n.clock < w.clock {
		next := *m
		next.columns[i].clock++
		yield(modelStep{event: modelMovesClock, node: i}, next)
	}
	if int(m.losses) < w.losses {
		w.loses(m, i, yield)
	}
	if w.slips && !m.slipped && w.maySlip(m, i) {
		next := *m
		next.slipped, next.columns[i].promised = true, 0
		yield(modelStep{event: modelSlips, node: i}, next)
	}
}

// loses yields the ways in which a node may lose its state.
func (w *modelWorld) loses(m *model, i int, yield func(modelStep, model)) {
	lose := func(event modelEvent, entries [modelJobs]modelEntry, kept, pause uint8) {
		next := *m
		w.lose(&next, i, entries, kept, pause)
		yield(modelStep{event: event, node: i}, next)
	}
	lose(modelLosesAll, [modelJobs]modelEntry{}, 0, 0)
	if !w.older {
		return
	}
	n := &m.columns[i].modelNode
	var left [modelJobs]modelEntry
	for job, entry := range n.jobs {
		if entry.kind() != modelNone {
			left[job] = modelEntryOf(modelStale, entry.at())
		}
	}
	keeps := w.continues != [modelBallots]uint8{} // otherwise nothing reads the promise in the old header
	var kept uint8
	if keeps {
		kept = n.promised
	}
	lose(modelRestarts, left, kept, n.pause)
	for _, at := range m.older(i, 0) {
		back := left
		back[0] = modelEntryOf(modelStale, at)
		if !keeps {
			lose(modelFallsBack, back, 0, 0)
			continue
		}
		for kept := uint8(at.ballot()); kept <= n.promised; kept++ {
			lose(modelFallsBack, back, kept, 0)
		}
	}
}

// older returns the positions of the earlier writes of a job that an older data file of the node may have. They include some that
// the node never stored, so they cover all real cases.
func (m *model) older(i, job int) (all []modelAt) {
	entry := m.columns[i].jobs[job]
	if entry.kind() == modelNone || entry.at() == 0 {
		return nil
	}
	all = append(all, 0)
	for b := 1; b <= entry.at().ballot(); b++ {
		for seq := 1; seq <= int(m.leaders[b-1].seq); seq++ {
			if at := modelAtOf(b, seq); at < entry.at() && m.leaders[b-1].writes[seq-1][job].part {
				all = append(all, at)
			}
		}
	}
	return all
}

// maySlip reports whether a node may lose its promise, and nothing else, unnoticed. No fault in the protocol's assumptions does
// this: somebody has changed the header manually. The protocol holds nevertheless if the node has a state of its promised ballot,
// and no node has been asked for a smaller ballot yet.
func (w *modelWorld) maySlip(m *model, i int) bool {
	entry, promised := m.columns[i].jobs[0], int(m.columns[i].promised)
	if entry.kind() != modelPresent || entry.at() == 0 || promised != entry.at().ballot() {
		return false
	}
	for l := range promised - 1 {
		if m.leaders[l].phase != modelPrepares {
			return false
		}
		for j := range m.columns {
			if m.columns[j].links[l].received {
				return false
			}
		}
	}
	return true
}

// people yields the settings that a person may make, and how nodes and leaders learn of them. A person waits until a majority has
// acknowledged a setting before making the next.
func (w *modelWorld) people(m *model, yield func(modelStep, model)) {
	if m.asked == m.set && int(m.asked) < w.settings {
		w.asks(m, yield)
	}
	for i := range m.columns {
		n := &m.columns[i].modelNode
		for setting := max(n.pause, 1); setting <= m.asked; setting++ {
			w.sets(m, i, setting, yield)
		}
		for l := range w.ballots {
			if m.leaders[l].phase == modelLeads && n.pause > m.leaders[l].state[0].pause {
				next := *m
				next.leaders[l].state[0].pause = n.pause
				yield(modelStep{event: modelLearns, ballot: l + 1, node: i}, next)
			}
		}
	}
}

// asks makes a person ask any majority for earlier settings, so that the next one has a mark above theirs. The clocks do not matter: if
// they are set back, they give no larger mark.
func (w *modelWorld) asks(m *model, yield func(modelStep, model)) {
	for absent := range m.columns {
		var known uint8
		for i := range m.columns {
			n := &m.columns[i].modelNode
			if i == absent {
				continue
			}
			if !w.without.markWaiting {
				known = max(known, n.pause)
			}
			if !w.without.markApplied {
				known = max(known, w.applied(m, n.jobs[0]))
			}
		}
		next := *m
		next.asked++
		if known < m.set && !m.unset {
			next.broken = modelMarkTaken
		}
		yield(modelStep{event: modelAsks, node: -1, number: int(next.asked)}, next)
	}
}

// sets makes a node handle a setting that is not older than its own, as ask.lua does.
func (w *modelWorld) sets(m *model, i int, setting uint8, yield func(modelStep, model)) {
	next := *m
	n := &next.columns[i].modelNode
	step := modelStep{event: modelSets, node: i, number: int(setting), unreceived: true}
	if n.pause < setting {
		n.pause = setting
		yield(step, next)
	}
	if setting != m.asked || m.set == m.asked || n.acked {
		return
	}
	n.acked, step.unreceived = true, false
	acked := 0
	for i := range next.columns {
		acked += int(modelBit(next.columns[i].acked))
	}
	if acked >= modelMajority {
		next.set = m.asked
		for i := range next.columns {
			next.columns[i].acked = false
		}
	}
	yield(step, next)
}
