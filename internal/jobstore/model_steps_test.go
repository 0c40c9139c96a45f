package jobstore_test

// steps yields all possible next steps.
func (w *modelWorld) steps(m *model, yield func(modelStep, model)) {
	for ballot := 1; ballot <= w.ballots; ballot++ {
		switch l := &m.leaders[ballot-1]; {
		case l.phase == modelPrepares && l.continues != 0:
			w.goesOn(m, ballot, yield)
		case l.phase == modelPrepares:
			w.decides(m, ballot, yield)
		case l.phase == modelLeads:
			w.sends(m, ballot, yield)
		}
		for i := range m.columns {
			w.promises(m, ballot, i, yield)
			if w.settings > 0 {
				w.polls(m, ballot, i, yield)
				w.forgets(m, ballot, i, yield)
			}
			for seq := 1; seq <= int(m.leaders[ballot-1].seq); seq++ {
				w.stores(m, ballot, seq, i, yield)
			}
		}
	}
	for i := range m.columns {
		w.faults(m, i, yield)
	}
	if w.settings > 0 {
		w.people(m, yield)
	}
}

// promises makes a node handle a prepare. Nobody sends a prepare for a later ballot of a leader before it leads.
func (w *modelWorld) promises(m *model, ballot, i int, yield func(modelStep, model)) {
	l := &m.leaders[ballot-1]
	if l.phase == modelPrepares && l.continues != 0 && m.leaders[l.continues-1].phase != modelLeads {
		return
	}
	next := *m
	same, ok := w.prepare(&next, i, ballot)
	if !ok {
		return
	}
	step := modelStep{event: modelPromises, ballot: ballot, node: i, unreceived: true}
	n, k := &next.columns[i].modelNode, &next.columns[i].links[ballot-1]
	if *n != m.columns[i].modelNode {
		yield(step, next)
	}
	if l.phase != modelPrepares || k.received {
		return
	}
	for _, entry := range n.jobs {
		if entry.kind() == modelPresent && entry.at().ballot() > ballot && !w.without.aboveAsked {
			return
		}
	}
	step.unreceived = false
	*k = modelLink{received: true, same: same}
	if l.continues == 0 { // otherwise it asks for no jobs
		k.floor, k.jobs = n.floor, n.jobs
	}
	yield(step, next)
}

// polls makes a node answer a leader that asks for settings.
func (w *modelWorld) polls(m *model, ballot, i int, yield func(modelStep, model)) {
	l, k := &m.leaders[ballot-1], &m.columns[i].links[ballot-1]
	if l.phase != modelLeads || l.asked || k.polled || int(m.columns[i].promised) > ballot {
		return
	}
	next := *m
	count := 1
	for i := range m.columns {
		count += int(modelBit(m.columns[i].links[ballot-1].polled))
	}
	if count == 1 {
		next.leaders[ballot-1].before = m.set
	}
	next.columns[i].links[ballot-1].polled, next.columns[i].links[ballot-1].pause = true, m.columns[i].pause
	yield(modelStep{event: modelPolls, ballot: ballot, node: i}, next)
	if count >= modelMajority {
		w.learn(&next, ballot)
		yield(modelStep{event: modelLearns, ballot: ballot, node: i}, next)
	}
}

// forgets makes a node forget a setting, because a leader tells it that the setting is applied, or that it was once it had applied it.
func (w *modelWorld) forgets(m *model, ballot, i int, yield func(modelStep, model)) {
	l, n := &m.leaders[ballot-1], &m.columns[i].modelNode
	applied := l.named
	if w.without.pauseStored {
		for seq := range l.seq {
			applied = max(applied, l.writes[seq][0].pause)
		}
	}
	if n.pause == 0 || n.pause > applied || int(n.promised) > ballot {
		return
	}
	next := *m
	next.columns[i].pause = 0
	yield(modelStep{event: modelForgets, ballot: ballot, node: i}, next)
}

// decides makes a new leader go on from the states that the nodes returned.
func (w *modelWorld) decides(m *model, ballot int, yield func(modelStep, model)) {
	received := 0
	for i := range m.columns {
		received += int(modelBit(m.columns[i].links[ballot-1].received))
	}
	if received < modelMajority {
		return
	}
	second := []modelBasis{{}}
	if w.jobs > 1 {
		second = w.bases(m, ballot, 1)
	}
	for _, a := range w.bases(m, ballot, 0) {
		for _, b := range second {
			next := *m
			w.lead(&next, ballot, [modelJobs]modelBasis{a, b})
			step := modelStep{event: modelDecides, ballot: ballot, node: -1}
			switch {
			case a.older || b.older:
				step.event = modelDecidesOlder
			case a.stray || b.stray:
				step.event = modelDecidesStray
			}
			yield(step, next)
		}
	}
}

// goesOn makes a leader that has taken a later ballot go on from its own last acknowledged state.
func (w *modelWorld) goesOn(m *model, ballot int, yield func(modelStep, model)) {
	before := int(m.leaders[ballot-1].continues)
	if m.leaders[before-1].phase != modelLeads || w.tried[ballot-1] {
		return
	}
	received, same := 0, 0
	for i := range m.columns {
		k := &m.columns[i].links[ballot-1]
		received, same = received+int(modelBit(k.received)), same+int(modelBit(k.same))
	}
	need := modelMajority
	switch {
	case w.without.reballot:
		need = 0
	case w.without.reballotQuorum:
		need = 1
	}
	if received < modelMajority || same < need {
		return
	}
	next := *m
	next.goOn(ballot)
	yield(modelStep{event: modelGoesOn, ballot: ballot, node: -1, number: before}, next)
}

// sends makes a leader send its next write.
func (w *modelWorld) sends(m *model, ballot int, yield func(modelStep, model)) {
	l := &m.leaders[ballot-1]
	if int(l.seq) >= w.seqs {
		return
	}
	second := []modelState{{}}
	if w.jobs > 1 {
		second = w.nexts(m, ballot, 1)
	}
	for _, a := range w.nexts(m, ballot, 0) {
		for _, b := range second {
			if !a.part && !b.part {
				continue
			}
			next := *m
			next.send(ballot, [modelJobs]modelState{a, b})
			step := modelStep{event: modelSends, ballot: ballot, node: -1, number: int(l.seq) + 1}
			switch {
			case a.attempt > 1:
				step.event = modelTakesOver
			case a.ended != l.state[0].ended:
				step.event = modelSendsEnd
			}
			yield(step, next)
		}
	}
}

// stores makes a node handle a write.
func (w *modelWorld) stores(m *model, ballot, seq, i int, yield func(modelStep, model)) {
	next := *m
	acks, ok := w.write(&next, i, ballot, seq)
	if !ok {
		return
	}
	step := modelStep{event: modelStores, ballot: ballot, node: i, number: seq, unreceived: true}
	if next.columns[i].modelNode != m.columns[i].modelNode {
		yield(step, next)
	} else {
		step.event = modelConfirms
	}
	l, k := &m.leaders[ballot-1], &m.columns[i].links[ballot-1]
	if l.phase != modelLeads || seq != int(l.seq) || acks&^l.done&^k.acks == 0 && !w.without.ownJob {
		return
	}
	step.unreceived = false
	if w.acknowledged(&next, i, ballot, acks) {
		step.event = modelStarts
	}
	yield(step, next)
}
