package redlock_test

// A model of the line: the order in which processes wait for a lock, kept by the nodes. It is small enough to visit all
// of its states.
//
// The first two nodes of a lock's order, or the only one, have a line: entries of processes, each with the instant until
// which the process promises to be there. A request that is refused appends the process or renews its entry. A lock that
// is free is for place k from k ticks after its release on; a node answers others how long they should wait. A release
// tells the first two in line. A process knows the holder, the time left, and whether two nodes have confirmed it.
//
// What the model has shown:
//
//   - Without losses, the lock is idle for a tick at most while somebody waits (none on one node), and one more for each
//     place whose process does not come, as long as the first or second does. If neither does, who released has the next
//     two told four ticks after the release. If that message is lost, the next one comes at the end of the hold as it was
//     known, plus a tick for each place. Where each request may take a tick, three processes on three nodes may split
//     votes for seven ticks.
//   - To ask one node of the line in turns whether a confirmed hold goes on halves the requests during a long hold. Entries
//     must then outlive two such turns: otherwise each node forgets the process before its turn comes.
//   - Nobody is served twice before one that waits, but by lost entries. A release starts the time of the places on every
//     node where the lock is free. If it did so only where it frees the lock, a node that never had the hold would let
//     the process that releases it go first.
//   - A hold need not be remembered as over: a node that still names its holder tells of its release, too. Remembering
//     it neither prevented a breach nor saved a request, so it is no rule here, nor is ignoring messages of own attempts.
//     (Failed attempts must pause for another reason, which is not modeled: a cause that lasts.)
//   - The entry of a process that releases must go, an attempt in vain must put its process first again, and who
//     released while others waited must ask the nodes of the line first: otherwise a busy lock costs twice the requests.
//
// Time is counted in ticks of 10 ms, which is what the places of the line are apart. All times are relative, so states
// repeat.
//
//   - A request and its reply are one step: who acts late on a reply might as well have got it late. Requests of a
//     process to a node stay in order. They are handled, or lost, within the tick in which they were sent, or the next
//     one in worlds with a delay. The same holds for messages of nodes.
//   - Processes do what is due at once. One that no longer does is dead (nodes see that it does not listen, but not in
//     a cluster) or hung.
//   - Clocks differ as they like: only differences of instants of one node matter. A step is a fault.
//   - Safety is not the line's business. The model only checks that there is one holder.
const (
	modelProcs   = 5
	modelNodes   = 3
	modelLease   = 8 // TTL
	modelGrace   = 3 // an entry outlives the next request of its process to the node by this
	modelLong    = 7 // longer than any place is apart from the first
	modelConfirm = 4 // a holder that one node names is asked about again

	modelMoreAfter = 4 // a release has more of those in line told
	modelMoreEvery = 2
)

// modelRules are the rules of the line that a world can do without.
type modelRules uint32

const (
	modelPlaces  modelRules = 1 << iota // a free lock is for place k from k ticks after its release
	modelRefresh                        // each request renews the entry
	modelExpire                         // entries that have passed are dropped
	modelHeard                          // entries of who no longer listens are dropped, but in clusters
	modelSecond                         // the second in line is notified, too
	modelOwn                            // a release removes the entry of the process that releases
	modelAnew                           // and starts the time of the places, on nodes that did not have the hold, too
	modelRequeue                        // who was granted the lock in vain is first again
	modelFailed                         // an attempt that looked like a hold tells of its end
	modelLeave                          // who stops waiting leaves the line
	modelKeep                           // but not if it waits again when that is sent
	modelAsk                            // a holder that only one node names is asked about again
	modelMissed                         // who may have missed messages asks again
	modelBack                           // a release in the future of a node's clock is one of long ago
	modelFirst                          // the nodes of the line are asked before the others
	modelHint                           // who released while others waited asks those nodes first, too
	modelAgain                          // whether a confirmed hold goes on is asked of one of those nodes, in turns
	modelMore                           // if the first two do not come, they go, and the next two are told
)

// modelValue is the value of a hold: its process, and which of its holds.
type modelValue uint8

func (v modelValue) proc() int { return int(v-1) / 4 }

type modelEntry struct {
	proc  uint8
	until int8
}

type modelNode struct {
	value modelValue
	left  int8 // of the hold; if it is free: minus the time since then
	n     uint8
	line  [modelProcs]modelEntry
}

type modelPhase uint8

const (
	modelIdle modelPhase = iota
	modelAsking
	modelWaiting
	modelHolding
	modelDone
	modelDead
	modelHung
)

type modelCode uint8

const (
	modelNotAsked modelCode = iota
	modelPending
	modelGranted
	modelHeld
	modelQueued
	modelLost
)

type modelAnswer struct {
	code  modelCode
	value modelValue
	left  int8
	place int8
}

// modelRequest is what a process has sent to a node.
type modelRequest struct {
	kind  modelKind
	value modelValue
	first bool // requeue
	tell  bool
	age   bool
}

type modelKind uint8

const (
	modelAcquire modelKind = iota + 1
	modelRelease           // of a hold
	modelClean             // of an attempt
	modelLeaves
	modelTellsMore
)

type modelMessage struct {
	value  modelValue
	second bool
	age    bool
}

type modelProc struct {
	phase     modelPhase
	wants     uint8 // holds
	holds     uint8 // modulo 4
	timer     int8
	answers   [modelNodes]modelAnswer
	woken     int8 // while it asked: 1 as the first, 2 as the second
	confirm   bool
	hint      bool             // others waited when it released
	known     modelValue       // a confirmed hold; 0: none
	one       bool             // the attempt asks one node of the line
	turn      bool             // which one
	more      [modelNodes]int8 // ticks until the node is to tell more of those in line, and one; 0: it is not
	over      modelValue       // the hold of which it tells
	leaves    [modelNodes]bool // to be sent
	overtaken uint8
	sent      [modelNodes][6]modelRequest
	messages  [4]modelMessage
}

// modelFaults says how many there may be yet.
type modelFaults struct{ crash, hang, lose, mute, reset, step, flush, end uint8 }

type modelState struct {
	nodes  [modelNodes]modelNode
	procs  [modelProcs]modelProc
	faults modelFaults
	idle   uint8 // how long the lock is free while somebody waits
}

// modelWorld says how large the model is and what may go wrong.
type modelWorld struct {
	without modelRules
	procs   int
	nodes   int
	wants   [modelProcs]uint8 // 0: one
	hold    int8              // ticks; the holder extends its lease
	queued  bool              // at the start, the first process holds the lock, and the others are in the line, in order
	dead    int               // so many of them, the first ones, are dead at the start
	cluster bool
	delay   bool
	crossed bool // the last process has another order of the nodes
	again   bool // who stops waiting may wait again
	faults  modelFaults
	idle    uint8 // bound
	over    uint8 // bound of how many are served before one that waits
}

func (w *modelWorld) has(r modelRules) bool { return w.without&r == 0 }
func (w *modelWorld) need() int             { return w.nodes/2 + 1 }

// lists reports whether the process is in the line of that node.
func (w *modelWorld) lists(p, i int) bool {
	if w.nodes == 1 {
		return true
	}
	if w.crossed && p == w.procs-1 {
		return i > 0
	}
	return i < 2
}

func (w *modelWorld) value(s *modelState, p int) modelValue {
	return modelValue(1 + 4*p + int(s.procs[p].holds))
}

func (w *modelWorld) start() modelState {
	s := modelState{faults: w.faults}
	for i := range w.nodes {
		s.nodes[i].left = -modelLong
	}
	for p := range w.procs {
		s.procs[p].wants = max(w.wants[p], 1)
	}
	if w.queued {
		s.procs[0].phase, s.procs[0].timer = modelHolding, w.hold
		s.procs[0].wants--
		for i := range w.nodes {
			n := &s.nodes[i]
			n.value, n.left = w.value(&s, 0), modelLease
			for p := 1; p < w.procs; p++ {
				if w.lists(p, i) {
					n.list(p, modelLease+int8(p-1)+w.grace(), false)
				}
			}
		}
		for p := 1; p < w.procs; p++ {
			s.procs[p].phase, s.procs[p].timer = modelWaiting, modelLease+int8(p-1)
			if p <= w.dead {
				s.procs[p] = modelProc{phase: modelDead}
			}
		}
	}
	return s
}

// grace returns by how much an entry outlives the next request of its process, which may go to the other node of the line.
func (w *modelWorld) grace() int8 {
	if w.has(modelAgain) && w.nodes > 1 {
		return modelLease + modelGrace
	}
	return modelGrace
}

// first returns the first node that the process asks.
func (w *modelWorld) first(p int) int {
	if w.nodes > 1 && !w.lists(p, 0) {
		return 1
	}
	return 0
}

// place returns where the process is in the line, or would be.
func (n *modelNode) place(p int) int {
	for k := range int(n.n) {
		if int(n.line[k].proc) == p {
			return k
		}
	}
	return int(n.n)
}

func (n *modelNode) remove(k int) {
	if k < int(n.n) {
		copy(n.line[k:], n.line[k+1:])
		n.n--
		n.line[n.n] = modelEntry{}
	}
}

// list adds or renews an entry.
func (n *modelNode) list(p int, until int8, keep bool) {
	k := n.place(p)
	if k == int(n.n) {
		n.n++
	} else if keep {
		return
	}
	n.line[k] = modelEntry{uint8(p), until}
}

func (n *modelNode) held() bool { return n.value != 0 && n.left > 0 }

// handle is the node's script. It returns the answer to an acquire.
func (w *modelWorld) handle(s *modelState, i, p int, r modelRequest) (a modelAnswer) {
	n := &s.nodes[i]
	for k := 0; w.has(modelExpire) && k < int(n.n); {
		if n.line[k].until <= 0 {
			n.remove(k)
		} else {
			k++
		}
	}
	switch r.kind {
	case modelAcquire:
		k, lists := n.place(p), w.lists(p, i)
		if n.held() && n.value != r.value {
			if lists {
				n.list(p, n.left+int8(k)+w.grace(), !w.has(modelRefresh))
			}
			return modelAnswer{modelHeld, n.value, n.left, int8(k)}
		}
		since := -n.left
		if n.value == 0 && n.left > 0 && w.has(modelBack) {
			since = modelLong
		}
		if lists && since < int8(k) && w.has(modelPlaces) {
			n.list(p, int8(k)-since+w.grace(), !w.has(modelRefresh))
			return modelAnswer{modelQueued, 0, int8(k) - since, int8(k)}
		}
		n.value, n.left = r.value, modelLease
		n.remove(n.place(p))
		return modelAnswer{code: modelGranted}
	case modelRelease, modelClean:
		ours := n.value == r.value
		if ours {
			n.value, n.left = 0, min(n.left, 0)
		}
		if r.kind == modelRelease && w.has(modelAnew) && !n.held() {
			n.left = 0
		}
		if r.kind == modelRelease && w.has(modelOwn) {
			n.remove(n.place(p))
		}
		if r.first && ours && w.has(modelRequeue) {
			n.remove(n.place(p))
			copy(n.line[1:], n.line[:n.n])
			n.n++
			n.line[0] = modelEntry{uint8(p), modelGrace}
		}
		if r.kind == modelRelease {
			s.procs[p].hint = s.procs[p].hint || n.n > 0 && w.has(modelHint)
		}
		if (r.kind == modelRelease || r.tell) && !n.held() {
			w.tell(s, i, r.value)
		}
		if r.kind == modelRelease && i == w.first(p) {
			w.tellMore(s, i, p, r.value, modelMoreAfter)
		}
	case modelLeaves, modelTellsMore:
		if r.kind == modelLeaves {
			n.remove(n.place(p))
		} else if !n.held() && (n.left <= -modelMoreEvery || n.left > 0) {
			n.remove(0)
			n.remove(0)
		}
		if !n.held() {
			w.tell(s, i, r.value)
		}
		w.tellMore(s, i, p, r.value, modelMoreEvery)
	}
	return a
}

// tellMore has the process ask the node to tell more of those in line, unless the first two come.
func (w *modelWorld) tellMore(s *modelState, i, p int, v modelValue, after int8) {
	if n, q := &s.nodes[i], &s.procs[p]; w.has(modelMore) && !n.held() && n.n > 2 && q.phase != modelDead && q.phase != modelHung {
		q.more[i], q.over = after+1, v
	}
}

// tell sends the first two in the line a message.
func (w *modelWorld) tell(s *modelState, i int, v modelValue) {
	n := &s.nodes[i]
	for k, notified := 0, 0; k < int(n.n) && notified < 2 && (notified == 0 || w.has(modelSecond)); {
		q := &s.procs[n.line[k].proc]
		listens := q.phase != modelDead && q.phase != modelDone
		if !listens && !w.cluster && w.has(modelHeard) {
			n.remove(k)
			continue
		}
		if q.phase == modelAsking || q.phase == modelWaiting {
			second := notified > 0
			q.receiveLater(modelMessage{value: v, second: second})
		}
		notified++
		k++
	}
}

func (q *modelProc) receiveLater(m modelMessage) {
	for j := range q.messages {
		if q.messages[j].value == m.value && q.messages[j].second == m.second {
			return
		}
		if q.messages[j].value == 0 {
			q.messages[j] = m
			return
		}
	}
	copy(q.messages[:], q.messages[1:])
	q.messages[len(q.messages)-1] = m
}
