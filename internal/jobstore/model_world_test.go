package jobstore_test

// A model of the protocol of this package, small enough to visit all of its states: three nodes, up to four ballots and a few
// ticks. A ballot has a leader of its own, or the leader of an earlier ballot. Many faults need no steps of their own:
//
//   - A leader that does nothing more has crashed, is paused or cut off, or has ended its term.
//   - A request stays in the network forever. A node may handle it late, after its leader has moved on, and more than once. A
//     request that no node handles is lost.
//   - A leader gets a reply at the moment when the node sends it, or never. A promise that arrives late is the same as a promise
//     on which the leader acts late. An acknowledgment that arrives after the leader has moved on does not count.
//   - Time is counted in units of Ahead. In stepwise worlds a node's clock moves on at any moment. In the other worlds it moves on
//     by as much as it takes to accept a request. This loses nothing: a clock that is further on only makes the node refuse more,
//     and a refused request might as well have been lost.
//   - A node that loses its state starts its next incarnation at once. The real node starts it at the next prepare, and until then
//     refuses everything.
const (
	modelNodes    = 3
	modelMajority = 2
	modelBallots  = 4 // at most
	modelSeqs     = 3 // writes of a ballot, at most
	modelJobs     = 2 // at most
	modelAhead    = 1

	modelTries    = 2                               // attempts that a run may use up, in worlds with take-overs
	modelAttempts = modelTries * (modelBallots + 1) // attempts at a tick, at most, in these worlds
)

// modelWorld says how large the model is and what may go wrong.
type modelWorld struct {
	without  modelRules
	ballots  int
	seqs     int // writes of each ballot
	ticks    int
	jobs     int   // 1 if it is 0
	times    int   // ballots are taken at instants 1..times
	losses   int   // losses of state, over all nodes
	older    bool  // a node may come back with older data, and not only with none
	stepwise bool  // clocks move on by themselves
	clock    uint8 // and up to this time
	slips    bool  // a node may lose its promise, and nothing else, without anybody noticing
	settings int   // settings that people make: a pause, its end, another pause
	again    bool  // AtLeastOnce: open runs of earlier leaders are taken over
	ends     bool  // runs end, and open runs of earlier leaders are reported as lost
	settles  bool  // a leader's first write may open nothing
	led      bool  // the first ballot leads from the start

	continues [modelBallots]uint8 // for each ballot the earlier ballot of the same leader; 0: none
	tried     [modelBallots]bool  // ballots that the leader takes without learning of a majority; it takes a later one
	first     modelState          // the state of all nodes at the start
}

// modelAt is the position of a write in the order of all writes: its ballot and sequence number. 0 is before all ballots.
type modelAt uint8

func modelAtOf(ballot, seq int) modelAt { return modelAt(ballot<<3 | seq) }
func (a modelAt) ballot() int           { return int(a >> 3) }
func (a modelAt) seq() int              { return int(a & 7) }

// modelKind says whether a node knows a job, as in jobstore.Kind.
type modelKind uint8

const (
	modelNone modelKind = iota
	modelPresent
	modelStale
)

// modelEntry is a node's entry of a job: its kind, and the position of the write that the node stored.
type modelEntry uint8

func modelEntryOf(k modelKind, at modelAt) modelEntry { return modelEntry(uint8(k)<<6 | uint8(at)) }
func (e modelEntry) kind() modelKind                  { return modelKind(e >> 6) }
func (e modelEntry) at() modelAt                      { return modelAt(e & 63) }

// modelState is the state of a job that a leader writes. The last two fields are for the model; no node reads them.
type modelState struct {
	mark    uint8 // every tick up to here is settled or open
	open    uint8 // the tick whose run is open; 0: none
	attempt uint8 // the first attempt of that run
	ended   uint8 // the tick whose end it reports
	lost    uint8 // the tick whose run it reports as lost
	pause   uint8 // the newest setting that its leader has learned of

	part  bool // the write has a state of this job
	stray bool // no majority vouched for the state that it goes on from
}

// modelNode is one node.
type modelNode struct {
	clock    uint8
	floor    uint8 // the start of its incarnation + modelAhead; 0: long ago
	promised uint8 // the largest ballot
	kept     uint8 // the promise in older data that came back; 0 once the node has answered a prepare
	pause    uint8 // the newest setting of the first job that is not forgotten; 0: none
	acked    bool  // the person who makes the newest setting knows that the node has it
	jobs     [modelJobs]modelEntry
}

// modelLink is what a leader has received from a node.
type modelLink struct {
	received bool // a promise was received while the leader prepares; the next fields came with it
	same     bool // the node's last promise was to the leader's earlier ballot, in the same incarnation
	floor    uint8
	jobs     [modelJobs]modelEntry
	acks     uint8 // acknowledgments of the leader's newest write: a bit for each job
	polled   bool  // the leader asked for settings, and the node answered
	pause    uint8 // its answer
}

// modelColumn is a node with what the leaders have received from it.
type modelColumn struct {
	modelNode
	links [modelBallots]modelLink
}

// modelPhase is the phase of a leader.
type modelPhase uint8

const (
	modelPrepares modelPhase = iota
	modelLeads
	modelOver // the leader has gone on to a later ballot
)

// modelLeader is the process that has a ballot.
type modelLeader struct {
	started   uint16 // runs: a bit for each job, tick and attempt
	ended     uint8  // ticks whose end a majority has acknowledged: a bit for each
	lost      uint8  // ticks that a majority has acknowledged as lost
	named     uint8  // the newest setting in an acknowledged write
	before    uint8  // the newest setting that a majority had acknowledged when it began to lead, and when it learned of the first one
	asked     bool   // a majority has answered
	phase     modelPhase
	continues uint8                 // the earlier ballot of the same process; 0: none
	seq       uint8                 // number of its newest write; 0: it has written nothing
	done      uint8                 // jobs whose state in that write a majority has acknowledged: a bit for each
	state     [modelJobs]modelState // the last acknowledged state; before the first write, the basis
	writes    [modelSeqs][modelJobs]modelState
}

// model is one state of the whole world.
type model struct {
	columns [modelNodes]modelColumn
	leaders [modelBallots]modelLeader
	times   [modelBallots]uint8 // when the ballots were taken
	losses  uint8               // how often a node has lost its state
	slipped bool                // a node has lost its promise unnoticed
	asked   uint8               // the newest setting that a person makes
	set     uint8               // the newest setting that a majority has acknowledged
	unset   bool                // a node has lost a setting
	broken  modelBreach
}

// at returns the state of a job that was written at a position.
func (w *modelWorld) at(m *model, at modelAt, job int) modelState {
	if at == 0 {
		return w.first
	}
	return m.leaders[at.ballot()-1].writes[at.seq()-1][job]
}

// begin returns the initial states: one for each choice of the instants at which ballots are taken.
func (w *modelWorld) begin() (all []model) {
	var choose func(m model, ballot int, from uint8)
	choose = func(m model, ballot int, from uint8) {
		if ballot > w.ballots {
			all = append(all, m)
			return
		}
		for at := from; int(at) <= w.times; at++ {
			m.times[ballot-1] = at
			choose(m, ballot+1, at)
		}
	}
	choose(w.start(), 1, 1)
	return all
}

// start returns the initial state, without those instants.
func (w *modelWorld) start() (m model) {
	for i := range m.columns {
		for job := range w.jobs {
			m.columns[i].jobs[job] = modelEntryOf(modelPresent, 0)
		}
		if w.led {
			m.columns[i].promised = 1
		}
	}
	for b := range m.leaders {
		m.leaders[b].continues = w.continues[b]
	}
	if w.led {
		m.leaders[0].phase = modelLeads
		for job := range w.jobs {
			m.leaders[0].state[job] = w.adopt(&m, modelBasis{known: true}, job)
		}
	}
	return m
}
