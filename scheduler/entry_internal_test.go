package scheduler

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// The nodes were asked, and before their answers were taken over a claim was won and a look found a resumption.
func TestEntry_KeepsWhatIsNewerThanThePromise(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	paused, resumed := register.Setting{Version: 1, On: true}, register.Setting{Version: 2}
	asked, earlier := register.Setting{Version: at.UnixMicro()}, register.Setting{Version: at.Add(-time.Hour).UnixMicro()}
	e := &entry{job: &job{}, lane: &lane{}}
	e.state = register.State{Missed: 7, Manual: at, Pause: resumed, Trigger: asked}

	e.promised(register.State{Missed: 6, Manual: at.Add(-time.Hour), Pause: paused, Trigger: earlier, Mark: at}, 1)
	if e.state.Missed != 7 || e.state.Pause != resumed || e.triggered() {
		t.Errorf("%d missed, pause %+v, asked for by hand %v", e.state.Missed, e.state.Pause, e.triggered())
	}
	e.promised(register.State{Missed: 8, Manual: at, Pause: register.Setting{Version: 3, On: true}, Mark: at}, 1)
	if e.state.Missed != 8 || !e.state.Pause.On || !e.floor.Equal(at) {
		t.Errorf("%d missed, pause %+v, floor %v", e.state.Missed, e.state.Pause, e.floor)
	}
}

// What this process asked for in its last term and another leader has decided since is not asked for again; what has
// its own vote and no end is.
func TestEntry_DropsWhatAnotherLeaderHasDecided(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	asked := asking{slot: register.Slot{At: at}, run: "ours"}
	ours := register.Record{Slot: asked.slot, Run: "ours", Attempt: 1}
	theirs := register.Record{Slot: asked.slot, Run: "theirs", Attempt: 1}
	for name, test := range map[string]struct {
		state register.State
		want  asking
	}{
		"gone past":       {register.State{Mark: at.Add(time.Hour), Open: []register.Record{ours}}, asking{}},
		"ended":           {register.State{Mark: at}, asking{}},
		"another's run":   {register.State{Mark: at, Open: []register.Record{theirs}}, asking{}},
		"ours, no end":    {register.State{Mark: at, Open: []register.Record{ours}}, asked},
		"nobody's as yet": {register.State{Mark: at.Add(-time.Hour)}, asked},
	} {
		e := &entry{job: &job{}, lane: &lane{}, carried: true}
		e.asked[aTick] = asked
		e.promised(test.state, 2)
		if e.asked[aTick] != test.want || e.floor.Before(at) != (test.want == asked) {
			t.Errorf("%s: asked for %+v, floor %v", name, e.asked[aTick], e.floor)
		}
	}
}

func TestNodeSet_HasWhatWasAdded(t *testing.T) {
	var s nodeSet
	s.add(0)
	s.add(63)
	for node, want := range map[int]bool{0: true, 1: false, 62: false, 63: true, 64: true} {
		if s.has(node) != want {
			t.Errorf("node %d: %v", node, !want)
		}
	}
}
