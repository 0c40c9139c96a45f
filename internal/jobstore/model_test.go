package jobstore_test

import (
	"flag"
	"sync"
	"testing"
	"time"
)

var modelDeep = flag.Bool("jobstore.deep", false, "explore the larger worlds of the model too: some minutes and gigabytes")

// modelCase is a world in which there must be no breach.
type modelCase struct {
	name    string
	world   modelWorld
	reaches []modelEvent // events that must occur in it; otherwise it would prove nothing
}

// modelExplored has the result of each explored world: several tests use the same worlds.
var modelExplored sync.Map

// explore visits every state of a world. It logs their number and, if there is a breach, the shortest way there.
func (w modelWorld) explore(t *testing.T) modelResult {
	t.Helper()
	w.jobs = max(w.jobs, 1)
	w.first.part = true
	once, _ := modelExplored.LoadOrStore(w, sync.OnceValue(func() modelResult {
		at := time.Now()
		r := w.search()
		r.took = time.Since(at).Round(time.Millisecond)
		return r
	}))
	r := once.(func() modelResult)()
	t.Logf("%d states, %v", r.states, r.took)
	for _, line := range r.trace {
		t.Log(line)
	}
	return r
}

// modelHolds explores worlds, and the deep ones only if the flag asks for them. None of the deep ones is a part of another.
func modelHolds(t *testing.T, worlds, deep []modelCase) {
	if *modelDeep {
		worlds = append(worlds, deep...)
	}
	for _, c := range worlds {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.world.explore(t)
			if r.trace != nil {
				t.Error("the last line must not happen")
				return
			}
			for _, event := range c.reaches {
				if !r.reached[event] {
					t.Errorf("never occurred: %s", modelEventNames[event])
				}
			}
		})
	}
}

// Whatever clocks, networks and leaders do, and whatever nodes lose, no two leaders start the same tick.
func TestModel_NoTickStartsTwice(t *testing.T) {
	decisions := []modelEvent{modelStarts, modelDecides, modelDecidesOlder, modelDecidesStray}
	modelHolds(t, []modelCase{
		{"two leaders, clocks that move by themselves, a loss",
			modelWorld{ballots: 2, seqs: 1, ticks: 2, times: 2, losses: 1, older: true, stepwise: true, clock: 1},
			append(decisions, modelMovesClock)},
		{"three leaders", modelWorld{ballots: 3, seqs: 1, ticks: 2, times: 1}, []modelEvent{modelStarts, modelDecidesOlder}},
		{"a promise is lost unnoticed", modelWorld{ballots: 2, seqs: 2, ticks: 2, times: 1, slips: true},
			[]modelEvent{modelStarts, modelSlips}},
	}, []modelCase{
		{"two leaders, two losses", modelWorld{ballots: 2, seqs: 2, ticks: 2, times: 2, losses: 2, older: true},
			append(decisions, modelLosesAll, modelRestarts, modelFallsBack, modelConfirms)},
		{"two leaders, three ticks, two losses",
			modelWorld{ballots: 2, seqs: 1, ticks: 3, times: 3, losses: 2, older: true}, decisions},
		{"three leaders, two writes", modelWorld{ballots: 3, seqs: 2, ticks: 2, times: 1}, decisions[:3]},
		{"three leaders, two writes, a loss", modelWorld{ballots: 3, seqs: 2, ticks: 1, times: 2, losses: 1, older: true}, decisions},
		{"three leaders, two ticks, a loss", modelWorld{ballots: 3, seqs: 1, ticks: 2, times: 2, losses: 1, older: true}, decisions},
		{"three leaders, two losses", modelWorld{ballots: 3, seqs: 1, ticks: 1, times: 3, losses: 2, older: true}, decisions},
		{"three leaders, clocks that move by themselves, a loss",
			modelWorld{ballots: 3, seqs: 1, ticks: 1, times: 2, losses: 1, older: true, stepwise: true, clock: 1}, decisions},
		{"four leaders", modelWorld{ballots: 4, seqs: 1, ticks: 2, times: 1}, decisions[:3]},
	})
}

// The same holds if a leader takes a later ballot in its term and goes on without reading states.
func TestModel_LaterBallotOfALeader(t *testing.T) {
	other := [modelBallots]uint8{0, 0, 1} // another leader may come between
	after := [modelBallots]uint8{0, 1, 0} // another leader comes after
	twice := [modelBallots]uint8{0, 1, 2}
	reaches := []modelEvent{modelGoesOn, modelStarts, modelFallsBack}
	modelHolds(t, []modelCase{
		{"twice, another leader between", modelWorld{ballots: 4, seqs: 1, ticks: 1, times: 1, led: true,
			continues: [modelBallots]uint8{0, 0, 1, 3}}, reaches[:2]},
		{"without success, and again", modelWorld{ballots: 4, seqs: 1, ticks: 1, times: 1, led: true, continues: [modelBallots]uint8{0, 0, 1, 1},
			tried: [modelBallots]bool{2: true}}, reaches[:2]},
	}, []modelCase{
		{"twice", modelWorld{ballots: 3, seqs: 1, ticks: 1, times: 2, losses: 1, older: true, led: true, continues: twice}, reaches},
		{"another leader after", modelWorld{ballots: 3, seqs: 1, ticks: 2, times: 2, losses: 1, older: true, led: true, continues: after},
			reaches},
		{"two ticks", modelWorld{ballots: 3, seqs: 1, ticks: 2, times: 2, losses: 1, older: true, led: true, continues: other}, reaches},
		{"two writes", modelWorld{ballots: 3, seqs: 2, ticks: 1, times: 2, losses: 1, older: true, led: true, continues: other}, reaches},
		{"two losses", modelWorld{ballots: 3, seqs: 1, ticks: 1, times: 2, losses: 2, older: true, led: true, continues: other}, reaches},
		{"twice, another leader between, a loss", modelWorld{ballots: 4, seqs: 1, ticks: 1, times: 2, losses: 1, older: true, led: true,
			continues: [modelBallots]uint8{0, 0, 1, 3}}, reaches},
		{"without success, and again, a loss", modelWorld{ballots: 4, seqs: 1, ticks: 1, times: 2, losses: 1, older: true, led: true,
			continues: [modelBallots]uint8{0, 0, 1, 1}, tried: [modelBallots]bool{2: true}}, reaches},
		{"from the start", modelWorld{ballots: 3, seqs: 1, ticks: 1, times: 2, losses: 1, older: true, continues: other}, reaches},
		{"others between and after, a loss",
			modelWorld{ballots: 4, seqs: 1, ticks: 1, times: 2, losses: 1, older: true, led: true, continues: other}, reaches},
		{"taken over", modelWorld{ballots: 3, seqs: 1, ticks: 1, times: 2, losses: 1, older: true, led: true, continues: other,
			again: true, first: modelOpenRun}, append(reaches, modelTakesOver)},
	})
}

// modelOpenRun is the state of the nodes after an earlier leader has opened a run.
var modelOpenRun = modelState{mark: 1, open: 1, attempt: 1}

// With AtLeastOnce, a later leader runs an open run again. No two leaders use the same attempt if a majority vouched for the
// state from which the later one went on.
func TestModel_NoAttemptIsUsedTwice(t *testing.T) {
	reaches := []modelEvent{modelTakesOver, modelStarts, modelDecidesOlder, modelDecidesStray}
	ended := append(reaches, modelSendsEnd)
	modelHolds(t, []modelCase{
		{"two leaders, runs that end, a loss", modelWorld{ballots: 2, seqs: 2, ticks: 1, times: 2, losses: 1, older: true, again: true,
			ends: true}, ended},
	}, []modelCase{
		{"three leaders, two losses", modelWorld{ballots: 3, seqs: 1, ticks: 1, times: 2, losses: 2, older: true, again: true,
			first: modelOpenRun}, reaches},
		{"two leaders, runs that end, three writes, a loss", modelWorld{ballots: 2, seqs: 3, ticks: 1, times: 2, losses: 1, older: true,
			again: true, ends: true, first: modelOpenRun}, ended},
		{"three leaders, runs that end", modelWorld{ballots: 3, seqs: 2, ticks: 1, times: 1, again: true, ends: true}, ended[:3]},
	})
}

// If a majority vouches for its state, a later leader neither reports a run as lost whose end was acknowledged, nor runs it
// again.
func TestModel_NoEndIsLost(t *testing.T) {
	reaches := []modelEvent{modelSendsEnd, modelStarts, modelDecidesOlder, modelDecidesStray}
	modelHolds(t, []modelCase{
		{"two leaders", modelWorld{ballots: 2, seqs: 2, ticks: 1, times: 1, led: true, ends: true, settles: true}, reaches[:3]},
	}, []modelCase{
		{"two leaders, three writes, a loss", modelWorld{ballots: 2, seqs: 3, ticks: 1, times: 2, losses: 1, older: true, ends: true,
			settles: true}, reaches},
		{"three leaders, a loss", modelWorld{ballots: 3, seqs: 2, ticks: 1, times: 2, losses: 1, older: true, led: true, ends: true,
			settles: true}, reaches},
	})
}

// A leader writes only with the setting that a majority acknowledged before it led, until a node loses a setting. A setting in an
// acknowledged write is as durable as the write. Each setting has a mark above those before it, whatever the clocks show.
func TestModel_NoSettingIsForgotten(t *testing.T) {
	reaches := []modelEvent{modelSets, modelStarts, modelLearns, modelPolls, modelForgets}
	modelHolds(t, []modelCase{
		{"a pause", modelWorld{ballots: 2, seqs: 1, ticks: 1, times: 1, settings: 1, settles: true}, reaches},
		{"a pause and its end, one leader", modelWorld{ballots: 1, seqs: 2, ticks: 1, times: 1, settings: 2, settles: true}, reaches},
	}, []modelCase{
		{"a pause and its end", modelWorld{ballots: 2, seqs: 1, ticks: 1, times: 1, settings: 2, settles: true}, reaches},
		{"a pause, its end and a pause", modelWorld{ballots: 1, seqs: 3, ticks: 1, times: 1, settings: 3, settles: true}, reaches},
		{"a pause, two ticks", modelWorld{ballots: 2, seqs: 2, ticks: 2, times: 1, settings: 1, settles: true}, reaches},
		{"a pause, a loss", modelWorld{ballots: 2, seqs: 1, ticks: 1, times: 2, losses: 1, settings: 1, settles: true}, reaches},
	})
}

// Each job in a write is decided separately: a node may store the state of one and refuse that of the other.
func TestModel_TwoJobsInAWrite(t *testing.T) {
	reaches := []modelEvent{modelStarts, modelDecidesOlder}
	modelHolds(t, []modelCase{
		{"two writes", modelWorld{ballots: 2, seqs: 2, ticks: 1, jobs: 2, times: 1}, reaches},
	}, []modelCase{
		{"marks ahead of clocks, a loss", modelWorld{ballots: 2, seqs: 1, ticks: 2, jobs: 2, times: 2, losses: 1, older: true,
			stepwise: true, clock: 1}, reaches},
		{"one of them paused", modelWorld{ballots: 2, seqs: 1, ticks: 1, jobs: 2, times: 1, settings: 1}, reaches},
	})
}
