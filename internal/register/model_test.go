package register_test

// The claim protocol as a model small enough to look at every state of it: three nodes with one job, two
// leaders of which neither knows that the other goes on, with the tokens 1 and 2, and the ticks 1 and 2. The
// first may lead once more, with the token 3.
// Much that goes wrong needs no step of its own:
//
//   - a leader that does nothing more has crashed, was told that it is fenced, is paused or cut off;
//   - a request that no node handles was lost; one that is refused for a reason left out here (a pause, the
//     run's end, a clock off the median) might as well have been;
//   - a request once sent is never gone: a node may handle it later, also when its leader has asked for
//     something else since, and more than once;
//   - a reply is heard at once or never, since one to an earlier round does not count.
const (
	modelNodes  = 3
	modelQuorum = 2
	modelTicks  = 2
	modelAhead  = 1 // how far beyond its own clock a node votes; that clock is at 0 or 1
)

// modelFormer is the run of a leader before the two, in the worlds where its tick is taken over.
const modelFormer = 3

// modelAgain is the token with which leader 1 leads once more.
const modelAgain = 3

// modelRecord is what a node keeps of a tick.
type modelRecord struct {
	attempt uint8 // 0: nothing
	run     uint8 // for which it voted: the leader's number; 0: it was told of it when it was admitted
}

// modelRecords has a record for each tick.
type modelRecords [modelTicks + 1]modelRecord

// merge keeps the record of the highest attempt at each tick.
func (r *modelRecords) merge(others modelRecords) {
	for tick, o := range others {
		if r[tick].attempt < o.attempt || r[tick].attempt == o.attempt && r[tick].run < o.run {
			r[tick] = o
		}
	}
}

// modelNode is a node: its clock, and what it has of the job.
type modelNode struct {
	clock     uint8
	known     bool  // the job, under the node's present guard
	promised  uint8 // the highest token
	mark      uint8 // no first attempt at this tick or one below gets a vote
	admission uint8 // the mark it was admitted with: it may have forgotten votes for ticks up to this
	records   modelRecords
}

type modelReply string

const (
	modelYes     modelReply = "yes"
	modelNo      modelReply = "no"
	modelUnknown modelReply = "unknown"
)

// promise has the node refuse lower tokens.
func (n *modelNode) promise(without modelRules, token uint8) modelReply {
	switch {
	case !n.known:
		return modelUnknown
	case token < n.promised:
		return modelNo
	}
	if !without.promises {
		n.promised = token
	}
	return modelYes
}

// modelClaim asks for a vote. A leader makes one run of a tick, so that its number names the run.
type modelClaim struct {
	token, run, tick, attempt uint8
	over                      uint8 // the run to take over, for the rule that would compare it
}

// claim answers yes to one run of each attempt at a tick, however often it asks.
func (n *modelNode) claim(without modelRules, c modelClaim) modelReply {
	last := n.records[c.tick]
	switch {
	case !n.known:
		return modelUnknown
	case last == modelRecord{c.attempt, c.run}:
		return modelYes // its own vote asked again
	case c.token < n.promised,
		c.tick > n.clock+modelAhead && !without.refusalAhead,
		c.attempt == 1 && c.tick <= n.mark,
		c.attempt > 1 && !n.yields(without, c, last):
		return modelNo
	}
	if !without.promises {
		n.promised = c.token
	}
	n.mark = max(n.mark, c.tick)
	n.records[c.tick] = modelRecord{c.attempt, c.run}
	return modelYes
}

// yields tells whether the tick may be taken over. The node must know all the votes that it gave for it:
// what others told when it was admitted does not say what it forgot.
func (n *modelNode) yields(without modelRules, c modelClaim, last modelRecord) bool {
	voted := last.run != 0 || last.attempt != 0 && without.ownVotesOnly
	switch {
	case !voted && c.tick <= n.admission:
		return false
	case voted && without.attempts:
		return last.run == c.over
	}
	return last.attempt < c.attempt
}

// withdraw is what no rule allows: it takes a vote back.
func (n *modelNode) withdraw(tick, run uint8) {
	if n.known && n.records[tick].run == run {
		n.records[tick] = modelRecord{}
		n.mark = min(n.mark, tick-1)
	}
}

// forget loses everything. To come back with an older file is no different: what is in it was made under
// another guard, and nobody looks into it.
func (n *modelNode) forget(without modelRules, setBack bool) {
	*n = modelNode{clock: n.clock, known: without.guard}
	if setBack {
		n.clock = 0
	}
}

// modelAdmission has a node that forgot vote again.
type modelAdmission struct {
	token   uint8 // of the leader that sent it; 0: none did
	mark    uint8 // the maximum of others
	records modelRecords
	bare    bool // whether that maximum is all
}

// admit makes the job known. No vote that the node forgot was further ahead of its clock than modelAhead:
// the mark is not below any of them, be they counted already or still to be.
func (n *modelNode) admit(without modelRules, a modelAdmission) {
	if n.known {
		return
	}
	n.known, n.records = true, a.records
	if !without.promises {
		n.promised = a.token
	}
	n.admission = a.mark
	if !a.bare {
		n.admission = max(n.admission, n.clock+modelAhead)
	}
	n.mark = n.admission
	for tick := range n.records {
		if !without.ownRecords {
			n.records[tick].run = 0
		}
	}
}

// modelLink is what a leader has from a node, and the admission it sent to it.
type modelLink struct {
	knows     bool // the node has promised in the round that is on; and before it did, it had:
	mark      uint8
	records   modelRecords
	held      bool // it remembers that promise: claims name the guard under which it was given
	told      bool // it answered that it does not know the job
	earlier   bool // and did so before the round that is on
	vote      bool // for the tick that is on
	refused   bool // the same, noted where all answers are waited for
	admission modelAdmission
}

// modelLeader has nodes promise, and then asks for one tick after the other, as often as it likes.
type modelLeader struct {
	promising bool                  // a round of promises is on
	tick      uint8                 // that is asked for; 0: it does not lead yet; above the last: it is done
	asked     [modelTicks + 1]uint8 // by the attempt of its claims
	over      uint8                 // the run it takes over, for the rule that would compare it
	won       [modelTicks + 1]bool
	withdrew  bool // it took back its votes for the first tick
	again     bool // it leads once more
}

// token is what leader l has its votes promised with.
func (d *modelLeader) token(l int) uint8 {
	if d.again {
		return modelAgain
	}
	return uint8(l + 1)
}

// modelColumn is a node with what the leaders have from it.
type modelColumn struct {
	modelNode
	links [2]modelLink
}

// expire drops what was bound to a guard, or to the job's not being known: it can do nothing any more.
func (c *modelColumn) expire(without modelRules) {
	for l := range c.links {
		k := &c.links[l]
		k.told, k.earlier, k.held = false, false, false
		if !without.guardOfAdmission {
			k.admission = modelAdmission{}
		}
	}
}

// model is one state.
type model struct {
	columns [modelNodes]modelColumn
	leaders [2]modelLeader
	forgot  uint8 // how often nodes have
	left    uint8 // a tick that a leader left, though a quorum would have voted for it
}

// ask begins a round of promises. Answers to an earlier one do not count, nor do votes from before it:
// a node may have forgotten since, and be admitted by somebody else.
func (m *model) ask(without modelRules, l int) {
	m.leaders[l].promising = true
	for i := range m.columns {
		k := &m.columns[i].links[l]
		kept := k.vote && without.votesDropped
		*k = modelLink{told: k.told, earlier: k.told, vote: kept, admission: k.admission}
	}
}

// lead begins to ask for ticks, or goes on. Only what a quorum may have voted for can have been run: the
// mark is the Q-th largest, and of what is above it asking decides.
func (w modelWorld) lead(m *model, l int) {
	d := &m.leaders[l]
	reached := [modelTicks + 1]int{} // nodes whose mark is as high
	var own [modelTicks + 1]bool     // nodes have told of a run that may be this leader's
	var named modelRecords
	for i := range m.columns {
		k := &m.columns[i].links[l]
		if k.knows {
			for tick := range k.mark {
				reached[tick+1]++
			}
			named.merge(k.records)
			for tick, record := range k.records {
				own[tick] = own[tick] || record.attempt == 1 && (record.run == uint8(l+1) || record.run == 0)
			}
		}
		k.knows, k.mark, k.records = false, 0, modelRecords{}
	}
	d.promising = false
	if d.tick > 0 {
		return
	}
	need := modelQuorum
	if w.without.quorumMark {
		need = 1
	}
	for d.tick = w.first; d.tick <= w.last; d.tick++ {
		switch {
		case reached[d.tick] < need:
			d.asked[d.tick] = 1
			return
		case d.again && d.asked[d.tick] == 1 && own[d.tick]:
			return // it was not decided in the term before
		case w.takeOver:
			d.asked[d.tick], d.over = named[d.tick].attempt+1, named[d.tick].run
			if !w.without.attempts {
				d.over = 0
			}
			return
		}
		w.leave(m, l)
	}
	m.done(l)
}

// next leaves the tick for the one after it.
func (w modelWorld) next(m *model, l int) {
	d := &m.leaders[l]
	if d.tick++; d.tick > w.last {
		m.done(l)
		return
	}
	d.asked[d.tick] = 1
	for i := range m.columns {
		m.columns[i].links[l].vote, m.columns[i].links[l].refused = false, false
	}
}

// done drops what the leader will not look at again.
func (m *model) done(l int) {
	m.leaders[l].promising = false
	for i := range m.columns {
		k := &m.columns[i].links[l]
		*k = modelLink{held: k.held, admission: k.admission}
	}
}

// count returns of how many nodes it is true.
func (m *model) count(l int, what func(modelLink) bool) (n int) {
	for i := range m.columns {
		if what(m.columns[i].links[l]) {
			n++
		}
	}
	return n
}
