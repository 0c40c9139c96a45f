package jobmachine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

const unknown = jobmachine.ReasonUnknown

// The leader stops before it has decided on the ticks. Its last write must keep the next leader from running them.
func TestNext_ALeaderThatStopsKeepsTheFloor(t *testing.T) {
	for name, atLeastOnce := range map[string]bool{"at most once": false, "at least once": true} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			j.AtLeastOnce = atLeastOnce
			r := lead(t, j, 120, stateOf(j, 60)).work().want("run 120s")
			older := stateOf(j, 0)
			r.at(125).send(jobmachine.Prepared{Now: r.now, Basis: jobstore.Basis{Known: true, Written: jobstore.Written{State: older}, Floor: sec(185)}})
			r.send(jobmachine.Drain{})
			r.returns().work()
			if mark := r.m.State().Mark; mark.Before(sec(185)) {
				t.Errorf("the mark is %v", mark.Sub(day))
			}
			next := lead(t, j, 190, r.m.State()).work()
			if atLeastOnce {
				next.want("run 180s attempt 2 late")
			} else {
				next.want("")
			}
		})
	}
}

func TestNext_ATriggerBelowTheFloorIsNotRunAgain(t *testing.T) {
	j := minutely()
	lead(t, j, 50, stateOf(j, 0), withFloor(45)).triggered(40).work().
		want("missed manual 40s: " + unknown)
	lead(t, j, 50, stateOf(j, 0), withFloor(45)).triggered(46).work().
		want("run manual 46s")

	j.AtLeastOnce = true
	lead(t, j, 50, stateOf(j, 0), withFloor(45)).triggered(40).work().
		want("run manual 40s attempt 2 late")

	isNew := func(e *jobmachine.Prepared) { e.Basis.Known, e.Basis.State = false, jobstore.State{} }
	lead(t, j, 50, jobstore.State{}, withFloor(51), isNew).triggered(40).work().
		want("run manual 40s late")
}

// A job has as many open runs as a state can have. Each of them is taken over in its own place.
func TestNext_ATickBelowTheFloorIsMissedIfTooManyRunsAreOpen(t *testing.T) {
	j := withOverlap(jobmachine.Allow)
	j.AtLeastOnce = true
	var open []jobstore.Open
	for i := range jobstore.MaxOpen {
		open = append(open, jobstore.Open{Slot: tick(float64(-60 * i)), ID: fmt.Sprint("x", i), Attempt: 1, Tries: 1})
	}
	r := lead(t, j, 125, stateOf(j, 0), withOpen(open...), withFloor(125)).triggered(30).work()
	if n := len(r.m.State().Open); n != jobstore.MaxOpen || len(r.started) != n {
		t.Errorf("%d runs are open, %d are started", n, len(r.started))
	}
	r.started = nil
	r.reported = slices.DeleteFunc(r.reported, func(rec jobstore.Record) bool { return rec.State == jobstore.StateInterrupted })
	r.want("missed manual 30s: " + unknown + "; missed 120s (2 from 60s): " + unknown)
}

// The nodes lose their state during a term. Ticks that the leader has settled are not settled again, and its runs stay open.
func TestNext_AfterALossTheLeaderGoesOnFromWhatItKnows(t *testing.T) {
	for name, lost := range map[string]jobstore.Basis{
		"all of it":       {Floor: sec(187)},
		"the newest part": {Known: true, Floor: sec(187)},
	} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			j.AtLeastOnce = true
			r := lead(t, j, 60, stateOf(j, 0)).work().want("run 60s")
			r.at(70).returns().work().want("ok 60s")
			before := r.m.State()
			r.at(120).work().want("run 120s")
			if lost.Known {
				lost.State = before
				lost.State.Open = []jobstore.Open{{Slot: tick(60), ID: "r2", Attempt: 1, Tries: 1, Start: sec(60)}}
				lost.State.Mark = sec(60)
			}
			r.at(185).send(jobmachine.Prepared{Now: r.now, Basis: lost})
			r.work().want("") // the tick of 180 s has to wait for the run of 120 s
			r.at(190).returns().work().want("run 180s attempt 2 late; ok 120s")
			if s := r.m.State(); s.Missed != 0 || s.LastOK == nil || s.LastOK.Slot != tick(120) {
				t.Errorf("state %+v", s)
			}
		})
	}
}

// The other nodes do not answer for a while. Nobody else led before the tick that came meanwhile.
func TestNext_TheReasonIsNotAnOldAbsence(t *testing.T) {
	j := minutely()
	j.CatchUp.Window = 5 * time.Second
	r := lead(t, j, 0, stateOf(j, 0)).work()
	r.at(60).work().want("run 60s")
	r.at(61).returns().work()
	r.at(119).send(jobmachine.Unprepared{})
	r.at(130).send(jobmachine.Prepared{
		Now: r.now, Basis: jobstore.Basis{Known: true, Written: jobstore.Written{State: r.m.State()}, Floor: sec(100)}, Absence: "nobody led",
	})
	r.work().want("missed 120s: the leader came to it too late")
}

// A run that was opened before the loss, or that is lost, may still be under way. The next run waits for it.
func TestNext_ARunOfAnEarlierLeaderMayGoOn(t *testing.T) {
	lost := jobstore.Record{Slot: tick(0), ID: "x", Attempt: 1, State: jobstore.StateLost, Start: sec(0), End: sec(20)}
	open := jobstore.Open{Slot: tick(0), ID: "x", Attempt: 1, Tries: 1, Start: sec(0)}
	returned, again := open, open
	returned.Returned, again.Attempt = true, 2
	for name, test := range map[string]struct {
		change func(*jobmachine.Prepared)
		waits  bool
	}{
		"nothing is open":        {func(*jobmachine.Prepared) {}, false},
		"it is open":             {func(e *jobmachine.Prepared) { e.Basis.State.Open = []jobstore.Open{open} }, true},
		"it has returned":        {func(e *jobmachine.Prepared) { e.Basis.State.Open = []jobstore.Open{returned} }, false},
		"another leader lost it": {func(e *jobmachine.Prepared) { e.Basis.State.Last = &lost }, true},
		"nodes lost their state": {func(e *jobmachine.Prepared) { e.Basis.Floor = sec(10) }, true},
		"a repetition is open":   {func(e *jobmachine.Prepared) { e.Basis.State.Open = []jobstore.Open{again} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			j.AtLeastOnce = true
			r := lead(t, j, 60, stateOf(j, 0), test.change)
			r.unknown = true
			if r.work(); test.waits != (len(r.started) == 0) || test.waits != (r.asks == 1) {
				t.Fatalf("started %+v, asks %d times", r.started, r.asks)
			}
			if r.send(jobmachine.Free{Now: r.now}); test.waits && (len(r.work().started) != 1 || r.asks != 1) {
				t.Errorf("then started %+v, asks %d times", r.started, r.asks)
			}
		})
	}
}
