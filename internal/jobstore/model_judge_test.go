package jobstore_test

// modelRules are the rules of the protocol. In a world without a rule, its field is true.
type modelRules struct {
	// Rules of a node.
	promiseOnPrepare bool // a prepare below the promised ballot is refused
	promiseOnWrite   bool // a write below the promised ballot is refused
	writePromises    bool // a write raises the promise of its node
	ballotFloor      bool // a ballot must be above the start of the node's incarnation + modelAhead
	ballotAhead      bool // a ballot must be at most the node's clock + modelAhead
	markAhead        bool // a mark must be at most the node's clock + modelAhead
	order            bool // an older write of a ballot does not replace a newer one

	// Rules of a new leader.
	tag          bool // an entry of an earlier incarnation is not present
	tickFloor    bool // if no majority vouches for the state, no tick up to the floor is opened
	floorQuorum  bool // only a majority of nodes whose entries are present vouches for the state
	largest      bool // of the nodes' states, the one that was written last is chosen
	olderQuorum  bool // an older state is chosen only if a majority has it
	olderPresent bool // and each of these nodes in its present incarnation
	aboveAsked   bool // a node with a state above the prepared ballot does not count
	pauseKept    bool // the leader's states have the setting of the state from which it goes on
	pauseAsked   bool // a leader asks a majority for settings before its first write
	markWaiting  bool // whoever makes a setting knows of those that wait
	markApplied  bool // and of those that are applied
	pauseStored  bool // nodes forget a setting only when a majority has a state in which it is applied

	// Rules of a leader.
	startQuorum bool // a run starts only after a majority has acknowledged its write
	ownJob      bool // and has acknowledged the state of its own job in that write
	newSeq      bool // every write has its own sequence number
	tries       bool // a take-over uses an attempt above all attempts of the previous run

	// Rules of a leader that takes a later ballot.
	reballot        bool // its nodes have promised no other ballot in between
	reballotQuorum  bool // that must hold for a majority, not for one node
	reballotLed     bool // ballots that, as far as the leader knows, no majority has promised do not count as its own
	reballotPresent bool // and each of these nodes was in one incarnation before and after
}

// modelBreach is something that must not happen.
type modelBreach uint8

const (
	modelNoBreach modelBreach = iota
	modelStartedTwice
	modelAttemptTwice
	modelPauseUnknown
	modelPauseForgotten
	modelMarkTaken
	modelEndLost
	modelRanAgain
)

var modelBreaches = map[modelBreach]string{
	modelStartedTwice:   "two leaders have started the same tick for the first time",
	modelAttemptTwice:   "two leaders have used the same attempt at a tick",
	modelPauseUnknown:   "a leader writes without a setting that was acknowledged before it led or asked",
	modelPauseForgotten: "a leader does not name a setting that an earlier leader has written",
	modelMarkTaken:      "a setting has no mark above that of an acknowledged one",
	modelEndLost:        "a run whose end was acknowledged is reported as lost by a later leader",
	modelRanAgain:       "a run whose end was acknowledged is run again by a later leader",
}

// judge applies what follows when a majority has acknowledged a state: its run starts, and its reports are final. It records
// breaches.
func (w *modelWorld) judge(m *model, ballot, job int) (started bool) {
	l := &m.leaders[ballot-1]
	s := l.writes[l.seq-1][job]
	l.state[job] = s
	if w.settings > 0 && job == 0 {
		w.judgePause(m, ballot, s)
	}
	if bits := w.slots(job, s); bits&^l.started != 0 {
		started = true
		w.judgeStart(m, ballot, bits, s)
		l.started |= bits
	}
	if w.ends {
		l.ended |= 1 << s.ended &^ 1
		l.lost |= 1 << s.lost &^ 1
		w.judgeEnds(m)
	}
	return started
}

// judgeStart records a breach if a run was started before. Attempts above the first count only if a majority vouched for the
// state from which the later leader went on.
func (w *modelWorld) judgeStart(m *model, ballot int, bits uint16, s modelState) {
	first := w.slots(0, w.first)
	for o := range m.leaders {
		if o == ballot-1 {
			continue
		}
		switch {
		case bits&(m.leaders[o].started|first) == 0:
		case s.attempt == 1:
			m.broken = modelStartedTwice
		case ballot > o+1 && !s.stray || ballot < o+1 && !m.leaders[o].state[0].stray:
			m.broken = modelAttemptTwice
		}
	}
}

// judgePause records a breach if a leader does not know a setting that an earlier leader has written, although a majority vouched for
// its state.
func (w *modelWorld) judgePause(m *model, ballot int, s modelState) {
	l := &m.leaders[ballot-1]
	if s.pause < l.before && !m.unset {
		m.broken = modelPauseUnknown
	}
	l.named = max(l.named, s.pause)
	for b := range m.leaders[:ballot-1] {
		if s.pause < m.leaders[b].named && !s.stray {
			m.broken = modelPauseForgotten
		}
	}
}

// judgeEnds records a breach if a later leader reports an ended run as lost, or runs it again, although a majority vouched for
// the state from which that leader went on.
func (w *modelWorld) judgeEnds(m *model) {
	for b := range m.leaders {
		for later := b + 1; later < modelBallots; later++ {
			o := &m.leaders[later]
			switch ended := m.leaders[b].ended; {
			case o.state[0].stray:
			case ended&o.lost != 0:
				m.broken = modelEndLost
			case ended&w.ticksOf(o.started) != 0:
				m.broken = modelRanAgain
			}
		}
	}
}

// slots returns the bits of a state's open run in the set of started runs.
func (w *modelWorld) slots(job int, s modelState) uint16 {
	if s.open == 0 {
		return 0
	}
	if !w.again {
		return 1 << (job*w.ticks + int(s.open) - 1)
	}
	return (1<<modelTries - 1) << ((int(s.open)-1)*modelAttempts + int(s.attempt) - 1)
}

// ticksOf returns the ticks of the first job whose runs were started: a bit for each.
func (w *modelWorld) ticksOf(started uint16) (ticks uint8) {
	for tick := 1; tick <= w.ticks; tick++ {
		bits := uint16(1) << (tick - 1)
		if w.again {
			bits = (1<<modelAttempts - 1) << ((tick - 1) * modelAttempts)
		}
		if started&bits != 0 {
			ticks |= 1 << tick
		}
	}
	return ticks
}

// modelIsPause reports whether a setting is a pause: the first, the third and so on. The others end a pause.
func modelIsPause(setting uint8) bool { return setting%2 == 1 }
