package jobstore_test

import "testing"

// modelRemoval is a rule, and a world without breaches unless the rule is missing.
type modelRemoval struct {
	name    string
	without modelRules
	world   modelWorld
	deep    bool // it is explored only if the flag asks for it
}

func TestModel_EachRuleIsNeeded(t *testing.T) {
	var (
		two       = modelWorld{ballots: 2, seqs: 1, ticks: 1, times: 1}
		three     = modelWorld{ballots: 3, seqs: 1, ticks: 2, times: 1}
		writes    = modelWorld{ballots: 2, seqs: 2, ticks: 2, times: 1}
		loss      = modelWorld{ballots: 2, seqs: 1, ticks: 1, times: 2, losses: 1}
		olderData = modelWorld{ballots: 2, seqs: 1, ticks: 1, times: 2, losses: 1, older: true}
		marks     = modelWorld{ballots: 2, seqs: 1, ticks: 2, times: 2, losses: 1}
		slip      = modelWorld{ballots: 2, seqs: 2, ticks: 2, times: 1, slips: true}
		jobs      = modelWorld{ballots: 2, seqs: 1, ticks: 2, jobs: 2, times: 1, stepwise: true, clock: 1}
		again     = modelWorld{ballots: 2, seqs: 1, ticks: 1, times: 1, again: true}
		paused    = modelWorld{ballots: 2, seqs: 1, ticks: 1, times: 1, settings: 1}
		settled   = modelWorld{ballots: 2, seqs: 1, ticks: 1, times: 1, settings: 1, settles: true}
		ended     = modelWorld{ballots: 1, seqs: 2, ticks: 1, times: 1, settings: 2, settles: true}
		later     = modelWorld{ballots: 3, seqs: 1, ticks: 1, times: 1, led: true, continues: [modelBallots]uint8{0, 0, 1}}
		vain      = modelWorld{ballots: 4, seqs: 1, ticks: 1, times: 1, led: true, continues: [modelBallots]uint8{0, 0, 1, 1},
			tried: [modelBallots]bool{2: true}}
		laterLoss = modelWorld{ballots: 3, seqs: 1, ticks: 1, times: 2, losses: 1, older: true, led: true,
			continues: [modelBallots]uint8{0, 0, 1}}
	)
	for _, r := range []modelRemoval{
		{"a node refuses prepares below its promise", modelRules{promiseOnPrepare: true}, two, false},
		{"a node refuses writes below its promise", modelRules{promiseOnWrite: true}, two, false},
		{"a write raises the promise", modelRules{writePromises: true}, three, true},
		{"a ballot is above what the node can have lost", modelRules{ballotFloor: true}, loss, false},
		{"a ballot is not ahead of the clock", modelRules{ballotAhead: true}, loss, false},
		{"a mark is not ahead of the clock", modelRules{markAhead: true}, marks, false},
		{"an older write replaces no newer one", modelRules{order: true}, writes, false},
		{"an entry of an earlier incarnation is not present", modelRules{tag: true}, olderData, false},
		{"no tick up to the floor is opened", modelRules{tickFloor: true}, loss, false},
		{"only a majority lifts the floor", modelRules{floorQuorum: true}, loss, false},
		{"the state that was written last holds", modelRules{largest: true}, two, false},
		{"an older state holds only if a majority has it", modelRules{olderQuorum: true}, two, false},
		{"an older state holds only if a majority has it present", modelRules{olderPresent: true}, olderData, false},
		{"a state above the prepared ballot does not count", modelRules{aboveAsked: true}, slip, false},
		{"a leader keeps the pause in the state", modelRules{pauseKept: true}, settled, false},
		{"a leader asks for pauses before it writes", modelRules{pauseAsked: true}, paused, false},
		{"nodes forget a pause when a majority has it in a state", modelRules{pauseStored: true}, settled, false},
		{"whoever makes a setting knows of those that wait", modelRules{markWaiting: true}, ended, false},
		{"whoever makes a setting knows of those that are applied", modelRules{markApplied: true}, ended, false},
		{"a run starts only after a majority has its write", modelRules{startQuorum: true}, two, false},
		{"a majority has the state of the run's own job", modelRules{ownJob: true}, jobs, true},
		{"every write has its own sequence number", modelRules{newSeq: true}, writes, false},
		{"a take-over uses an attempt above all tries", modelRules{tries: true}, again, false},
		{"a later ballot follows the earlier one at its nodes", modelRules{reballot: true}, later, false},
		{"a later ballot follows the earlier one at a majority", modelRules{reballotQuorum: true}, later, false},
		{"a later ballot follows one with which the leader has led", modelRules{reballotLed: true}, vain, true},
		{"a later ballot finds its nodes in the same incarnation", modelRules{reballotPresent: true}, laterLoss, true},
	} {
		if r.deep && !*modelDeep {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if with := r.world.explore(t); with.trace != nil {
				t.Error("the last line must not happen")
			}
			r.world.without = r.without
			if without := r.world.explore(t); without.trace == nil {
				t.Error("there is no breach without this rule")
			}
		})
	}
}
