package jobstore_test

import (
	"fmt"
	"strconv"
	"strings"
)

// modelEvent is a kind of step.
type modelEvent uint8

const (
	modelPromises modelEvent = iota
	modelDecides
	modelDecidesOlder
	modelDecidesStray
	modelGoesOn
	modelSends
	modelSendsEnd
	modelTakesOver
	modelStores
	modelConfirms
	modelStarts
	modelMovesClock
	modelLosesAll
	modelRestarts
	modelFallsBack
	modelSlips
	modelAsks
	modelSets
	modelLearns
	modelPolls
	modelForgets
	modelEvents
)

// In the names of events, B is a ballot and N the number of a write, a setting or an earlier ballot.
var modelEventNames = [modelEvents]string{
	modelPromises:     "promises ballot B",
	modelDecides:      "ballot B goes on from the state that was written last",
	modelDecidesOlder: "ballot B goes on from an older state",
	modelDecidesStray: "ballot B goes on from a state for which no majority vouches",
	modelGoesOn:       "ballot B goes on for ballot N, without reading states",
	modelSends:        "ballot B sends write N",
	modelSendsEnd:     "ballot B sends write N, the end of a run",
	modelTakesOver:    "ballot B sends write N, a take-over",
	modelStores:       "stores write N of ballot B",
	modelConfirms:     "already has write N of ballot B",
	modelStarts:       "stores write N of ballot B, and its run starts",
	modelMovesClock:   "moves its clock on",
	modelLosesAll:     "loses all of its state",
	modelRestarts:     "restarts",
	modelFallsBack:    "comes back with older data",
	modelSlips:        "loses its promise unnoticed",
	modelAsks:         "somebody wants setting N",
	modelSets:         "has setting N",
	modelLearns:       "ballot B learns of its setting",
	modelPolls:        "tells ballot B its setting",
	modelForgets:      "forgets the setting that ballot B has applied",
}

// modelStep is an event with its details.
type modelStep struct {
	event        modelEvent
	ballot, node int // node is -1 if the step is not about one
	number       int
	unreceived   bool
}

func (s modelStep) String() string {
	words := strings.NewReplacer("B", strconv.Itoa(s.ballot), "N", strconv.Itoa(s.number)).Replace(modelEventNames[s.event])
	if s.node >= 0 {
		words = fmt.Sprintf("node %d: %s", s.node, words)
	}
	if s.unreceived {
		words += ", unreceived"
	}
	return words
}

// detail describes the states that a leader goes on from or writes.
func (w *modelWorld) detail(step modelStep, m *model) string {
	var states [modelJobs]modelState
	switch l := &m.leaders[max(step.ballot, 1)-1]; step.event {
	case modelDecides, modelDecidesOlder, modelDecidesStray, modelGoesOn:
		states = l.state
	case modelSends, modelSendsEnd, modelTakesOver:
		states = l.writes[step.number-1]
	default:
		return ""
	}
	if w.jobs == 1 {
		return fmt.Sprintf(": %+v", states[0])
	}
	return fmt.Sprintf(": %+v; %+v", states[0], states[1])
}

// describe describes the start of a trace.
func (w *modelWorld) describe(m *model) string {
	text := fmt.Sprintf("all nodes have: %+v; ballots are taken at %v", w.first, m.times[:w.ballots])
	if w.led {
		text += "; ballot 1 leads"
	}
	return text
}
