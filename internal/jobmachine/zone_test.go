package jobmachine_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// zoned is a job of every 30 minutes by a clock that is ahead of UTC by some minutes.
func zoned(ahead int) *jobmachine.Job {
	j := minutely()
	j.Plan, j.Schedule = "zoned", local{every(30 * time.Minute), time.Duration(ahead) * time.Minute}
	j.CatchUp.Window = 5 * time.Minute
	return j
}

// Instants are minutes. The last leader's clock was 20 minutes ahead of UTC, and it has run 30 by it at 10.
func TestNext_NoLocalTimeRunsTwiceWhateverZoneDataLeadersHave(t *testing.T) {
	state := stateOf(zoned(20), 10*60)
	state.Reading = sec(30 * 60)
	lead := func(ahead int, at float64) *rig { return lead(t, zoned(ahead), at*60, state).work() }

	lead(20, 39).want("").at(40 * 60).work().want("run 2400s") // it has the same zone data

	// 30 comes a second time, at 30.
	r := lead(0, 11).want("").at(30 * 60).work().want("missed 1800s: " + jobmachine.ReasonRepeated)
	r.at(60 * 60).work().want("run 3600s")
	lead(0, 60).want("run 3600s; missed 1800s: " + jobmachine.ReasonRepeated)

	// 60 was at 0: the clock has jumped over it.
	lead(60, 11).want("").at(30 * 60).work().want("run 1800s")

	// 60 comes earlier.
	lead(40, 20).want("run 1200s")

	// No tick is repeated, but local times up to 51 were over.
	state.Mark, state.Reading = sec(31*60), sec(51*60)
	if s := lead(0, 55).want("").m.State(); !s.Mark.Equal(sec(51*60)) || zoned(0).Shift(&s) != 0 {
		t.Errorf("got %+v", s)
	}

	// The clock of an earlier leader is unknown.
	state.Reading = time.Time{}
	lead(0, 60).want("run 3600s")
}

// Two builds lead in turn, as in a deploy that hangs.
func TestNext_ALocalTimeStaysSettledWhenLeadersChange(t *testing.T) {
	state := stateOf(zoned(20), 10*60)
	state.Reading = sec(30 * 60)
	for at, want := range map[float64]string{25: "", 30: "missed 1800s: " + jobmachine.ReasonRepeated} {
		between := lead(t, zoned(0), 15*60, state).work().want("").m.State()
		lead(t, zoned(20), 20*60, between).work().want("")
		lead(t, zoned(0), at*60, between).work().want(want)
	}
}

func TestNext_AChangedPlanHasALocalTimeOfItsOwn(t *testing.T) {
	state := stateOf(minutely(), 10*60)
	state.Reading = sec(10 * 3600)
	r := lead(t, zoned(0), 15*60, state, func(e *jobmachine.Prepared) { e.Before = every(time.Hour) }).work().want("")
	if got := r.m.State(); !got.Reading.Equal(sec(15 * 60)) {
		t.Errorf("got %+v", got)
	}
	r.at(30 * 60).work().want("run 1800s")
	r.returns().work()
	r.send(jobmachine.Prepared{Now: sec(1000), Basis: jobstore.Basis{
		Known: true, Written: jobstore.Written{State: r.m.State()}, SetBack: time.Hour,
	}})
	if got := r.m.State(); !got.Reading.IsZero() { // only instants come a second time
		t.Errorf("after the nodes' clocks were set back: %+v", got)
	}
}
