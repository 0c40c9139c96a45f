package jobmachine_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

func withOverlap(o jobmachine.Overlap) *jobmachine.Job {
	j := minutely()
	j.Overlap = o
	return j
}

func TestNext_SkipIsByTheInstantOfTheTick(t *testing.T) {
	j := withOverlap(jobmachine.Skip)
	r := lead(t, j, 60, stateOf(j, 0)).work().want("run 60s")
	r.at(120).work().want("skipped 120s: " + jobmachine.ReasonOverlap)
	r.at(180).due() // no quorum stores this write, when the next tick has come
	r.failed()
	r.at(190).returns()
	r.at(230).work().want("ok 60s; skipped 180s: " + jobmachine.ReasonOverlap)
	r.wantMissed(0)

	// No run was under way when a tick came while nobody led. The tick waits for a run that began later.
	r = lead(t, j, 130, stateOf(j, 0)).triggered(131).work().want("run manual 131s")
	r.at(140).returns().work().want("run 120s late; ok manual 131s; missed 60s: nobody led")

	// The end of the previous leader's run is known.
	state := stateOf(j, 60)
	state.Last = &jobstore.Record{Slot: tick(60), ID: "x", State: jobstore.StateOK, Start: sec(60), End: sec(130)}
	lead(t, j, 190, state).work().want("run 180s late; skipped 120s: " + jobmachine.ReasonOverlap)
	state.Last.State = jobstore.StateLost // the end of a lost run is not known
	lead(t, j, 150, state).work().want("run 120s late")
}

// Skipped ticks are in the state until another row or run follows, or a tick between them was not skipped.
func TestNext_SkippedTicksInARowAreOneRow(t *testing.T) {
	r := lead(t, withOverlap(jobmachine.Skip), 60, stateOf(minutely(), 0)).work()
	write := func(at float64, rows int, from, to float64, ticks int) {
		t.Helper()
		w := r.at(at).due()
		if got := w.State.Skipped; len(w.Ended) != rows || got.Slot != tick(to) || got.Ticks != ticks || ticks > 0 && !got.From.Equal(sec(from)) {
			t.Errorf("at %v: rows %+v, and skipped are %+v", at, w.Ended, got)
		}
		r.stored()
	}
	write(120, 0, 120, 120, 0)
	write(180, 0, 120, 180, 2)
	write(310, 0, 120, 300, 4)
	r.at(320).wants(jobstore.ToPause, setting(320, true)).work()
	r.at(400).wants(jobstore.ToPause, setting(400, false))
	write(420, 1, 420, 420, 0)
	if w := r.at(430).returns().due(); len(w.Ended) != 2 || w.Ended[0].Slot != tick(420) || w.State.Skipped != nil {
		t.Errorf("after the run: rows %+v, and skipped are %+v", w.Ended, w.State.Skipped)
	}
}

func TestNext_QueueATickThatWaitsIsNotTooOld(t *testing.T) {
	for name, overlap := range map[string]jobmachine.Overlap{"queue": jobmachine.Queue, "replace": jobmachine.Replace} {
		t.Run(name, func(t *testing.T) {
			j := withOverlap(overlap)
			j.Schedule, j.CatchUp.Window = until{every(time.Minute), sec(180)}, jobmachine.LateTolerance
			r := lead(t, j, 60, stateOf(j, 0)).work().want("run 60s")
			r.at(120).work().want("")
			r.at(180).work().want("")
			r.at(7200).returns().work().want("run 180s late; ok 60s; missed 120s: " + jobmachine.ReasonSuperseded)
		})
	}
}

func TestNext_ReplaceCancelsOnceAndForWhatCameLater(t *testing.T) {
	j := withOverlap(jobmachine.Replace)
	r := lead(t, j, 60, stateOf(j, 0)).work().want("run 60s")
	first := r.underWay[0].ID
	r.at(120).work().wantCanceled(first)
	r.at(180).work().wantCanceled(first)
	r.at(185).returns().work().want("run 180s; ok 60s; missed 120s: " + jobmachine.ReasonSuperseded)
	r.at(186).work().wantCanceled(first)

	// The tick is older than the triggered run, and waits.
	r = lead(t, j, 70, stateOf(j, 0)).triggered(69).work().want("run manual 69s")
	r.at(75).work().wantCanceled()
	manual := r.underWay[0].ID
	r.wants(jobstore.ToTrigger, setting(76, true))
	r.at(77).work().wantCanceled(manual)
}

// A run that is taken over is older than the one under way.
func TestNext_ATakeOverReplacesNothing(t *testing.T) {
	j := withOverlap(jobmachine.Replace)
	j.AtLeastOnce = true
	state := stateOf(j, 60)
	state.Open = []jobstore.Open{{Slot: tick(60), ID: "x", Attempt: 1, Tries: 1, Start: sec(60)}}
	r := lead(t, j, 70, state).triggered(65).work().want("run manual 65s")
	r.at(75).work().wantCanceled()
	r.at(80).returns().work().want("run 60s attempt 2 late; ok manual 65s; interrupted 60s")
}

// Nodes accept no state with more open runs.
func TestNext_AllowHasAtMostAThousandRunsOpen(t *testing.T) {
	j := withOverlap(jobmachine.Allow)
	j.Plan, j.Schedule, j.CatchUp.All = "second", every(time.Second), true
	r := lead(t, j, 1200, stateOf(j, 0)).work()
	r.wants(jobstore.ToTrigger, setting(1200, true))
	r.work().want("")
	if n := len(r.m.State().Open); n != 1000 {
		t.Errorf("%d runs are open", n)
	}
	r.at(1200.5).returns().work()
	if len(r.started) != 1 || !r.started[0].Open.Slot.Manual {
		t.Errorf("started %+v", r.started)
	}
	r.at(1201).returns().work()
	if len(r.started) != 1 || r.started[0].Open.Slot != tick(1201) {
		t.Errorf("started %+v", r.started)
	}
}

// Runs start on time even while another one is under way.
func TestNext_ATickWithJitterIsSkippedWhenItIsDue(t *testing.T) {
	j := withOverlap(jobmachine.Skip)
	j.Jitter = 50 * time.Second
	r := lead(t, j, 70, stateOf(j, 60)).triggered(69).work().want("run manual 69s")
	start := j.StartOf(sec(120))
	if wake, _ := r.at(121).work().m.Wake(); !wake.Equal(start) {
		t.Errorf("Wake is %v, want %v", wake.Sub(day), start.Sub(day))
	}
	r.at(start.Sub(day).Seconds()).work().want("skipped 120s: " + jobmachine.ReasonOverlap)
}

// A job that rarely ticks, or is paused, is triggered again and again.
func TestNext_SpansOfTriggeredRunsDoNotPileUp(t *testing.T) {
	for name, test := range map[string]struct {
		schedule jobmachine.Schedule
		overlap  jobmachine.Overlap
		paused   bool
	}{
		"no tick comes":            {until{every(time.Minute), sec(0)}, jobmachine.Skip, false},
		"the next comes in a year": {every(365 * 24 * time.Hour), jobmachine.Queue, false},
		"overlaps are allowed":     {every(365 * 24 * time.Hour), jobmachine.Allow, false},
		"it is paused":             {every(time.Minute), jobmachine.Skip, true},
	} {
		t.Run(name, func(t *testing.T) {
			j := withOverlap(test.overlap)
			j.Schedule = test.schedule
			state := stateOf(j, 0)
			if test.paused {
				state.Pause = setting(0, true)
			}
			r := lead(t, j, 1, state)
			for i := range 1000 {
				now := float64(60*i + 90)
				r.wants(jobstore.ToTrigger, setting(now, true))
				r.at(now).work().at(now + 1).returns().work()
			}
			if n := r.m.Spans(); n > 60 {
				t.Errorf("after 1000 runs, none of which is under way, it keeps %d spans", n)
			}
		})
	}
}

// The leader learns late that a pause has ended. Triggered runs meanwhile count for the ticks that have come after the pause.
func TestNext_ATickAfterAPauseIsSkippedIfATriggeredRunWasUnderWay(t *testing.T) {
	j := withOverlap(jobmachine.Skip)
	state := stateOf(j, 0)
	state.Pause = setting(10, true)
	r := lead(t, j, 100, state).at(110).triggered(110).work().want("run manual 110s")
	r.at(125).returns().work().want("ok manual 110s")
	r.wants(jobstore.ToPause, setting(115, false))
	r.at(130).work().want("skipped 120s: " + jobmachine.ReasonOverlap)
}

// A run of an earlier leader may be under way at 60 s. Ticks wait until that is known, and are not skipped because of the wait.
func TestNext_TicksWaitForARunOfAnEarlierLeader(t *testing.T) {
	const missed = "; missed 60s: a run of an earlier leader may have been under way"
	for name, test := range map[string]struct {
		overlap    jobmachine.Overlap
		window     float64
		held       float64 // when that run was seen to be under way; 0: never
		atHeld     string
		atFree     string // at 130 s
		afterwards string // at 180 s
	}{
		"skip, it was over":             {jobmachine.Skip, 3600, 0, "", "run 120s late" + missed, "run 180s"},
		"skip, it went on":              {jobmachine.Skip, 3600, 62, "skipped 60s: " + jobmachine.ReasonOverlap, "run 120s late", "run 180s"},
		"skip, it goes on":              {jobmachine.Skip, 3600, 121, "skipped 120s (2 from 60s): " + jobmachine.ReasonOverlap, "", "run 180s"},
		"skip, in a short window":       {jobmachine.Skip, 5, 0, "", "missed 120s (2 from 60s): a run of an earlier leader may have been under way", "run 180s"},
		"queue, in a short window":      {jobmachine.Queue, 5, 121, "", "run 120s late; missed 60s: " + jobmachine.ReasonSuperseded, "run 180s"},
		"replace, and nothing is ended": {jobmachine.Replace, 3600, 0, "", "run 120s late; missed 60s: " + jobmachine.ReasonSuperseded, "run 180s"},
	} {
		t.Run(name, func(t *testing.T) {
			j := withOverlap(test.overlap)
			j.CatchUp.Window = time.Duration(test.window) * time.Second
			state := stateOf(j, 0)
			state.Last = &jobstore.Record{Slot: tick(0), ID: "x", Attempt: 1, State: jobstore.StateLost, Start: sec(0), End: sec(20)}
			r := lead(t, j, 50, state)
			r.unknown = true
			r.work().want("")
			r.at(60).work().want("")
			r.at(120).work().want("")
			if test.held > 0 {
				r.send(jobmachine.Held{At: sec(test.held)})
				r.work().want(test.atHeld)
			}
			r.at(130).send(jobmachine.Free{Now: r.now})
			if r.work().want(test.atFree); len(r.underWay) > 0 {
				r.returns().work()
			}
			r.at(180).work().want(test.afterwards).wantCanceled()
		})
	}
}

// A kept tick that waits for its jitter ends no run: it takes the place of the run when it begins.
func TestNext_AKeptTickReplacesARunWhenItBegins(t *testing.T) {
	j := withOverlap(jobmachine.Replace)
	j.CatchUp.All, j.Jitter = true, 50*time.Second
	start := j.StartOf(sec(180)).Sub(day).Seconds()
	if start < 182 {
		t.Fatalf("the run of 180s begins at %vs", start)
	}
	stored := stateOf(j, 0)
	stored.Plan = "half"
	r := lead(t, j, 181, stored, func(e *jobmachine.Prepared) { e.Before = every(30 * time.Second) })
	r.work().at(181.5).work()
	if len(r.underWay) != 1 || len(r.canceled) > 0 {
		t.Errorf("under way %+v, canceled %v", r.underWay, r.canceled)
	}
	if wake, _ := r.m.Wake(); !wake.Equal(sec(start)) {
		t.Errorf("it wakes at %v, want %v", wake, sec(start))
	}
	if r.at(start).work(); len(r.canceled) != 1 {
		t.Errorf("canceled %v", r.canceled)
	}
}
