package jobmachine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// withOpen adds open runs that this process has not started.
func withOpen(open ...jobstore.Open) func(*jobmachine.Prepared) {
	return func(e *jobmachine.Prepared) { e.Basis.State.Open = open }
}

func openAt(at float64, manual bool) jobstore.Open {
	return jobstore.Open{
		Slot: jobstore.Slot{At: sec(at), Manual: manual}, ID: "x", Attempt: 3, Tries: 4, Token: 6, Replica: "b", Start: sec(at),
	}
}

func TestNext_TakeOverCountsAboveAllTries(t *testing.T) {
	j := minutely()
	j.AtLeastOnce, j.Tries = true, 2
	r := lead(t, j, 70, stateOf(j, 60), withOpen(openAt(60, false))).work().want("run 60s attempt 7 late; interrupted 60s")
	if o := r.started[0].Open; o.Tries != 2 || o.Token != 7 || o.Replica != "a" || o.ID == "x" {
		t.Errorf("opened %+v", o)
	}
	r.at(75).returns(func(e *jobmachine.Returned) { e.Attempt = 8 }).work().want("ok 60s")
	if last := r.m.State().Last; last.Attempt != 8 {
		t.Errorf("the last run is %+v", last)
	}
}

// A tick that kills its process does so a few times only, with growing pauses, and each time has a row and counts as a failure.
func TestNext_ATickThatKillsItsProcessIsGivenUp(t *testing.T) {
	j := minutely()
	j.AtLeastOnce, j.Tries, j.MaxDeaths, j.Wait, j.MaxWait = true, 2, 4, 5*time.Second, 8*time.Second
	for _, slot := range []string{"60s", "manual 60s"} {
		state := stateOf(j, 60)
		manual := strings.HasPrefix(slot, "manual")
		state.Open = []jobstore.Open{openAt(60, manual)}
		now := 70.0
		for deaths, pause := range []float64{0, 5, 8} {
			state.Open[0].ID = "x" // of a leader that is gone
			r := lead(t, j, now, state)
			if pause > 0 {
				r.work().want("interrupted " + slot)
				r.at(now + pause - 0.1).work().want("")
			}
			r.at(now + pause).work()
			want := fmt.Sprintf("run %s attempt %d late", slot, 7+2*deaths)
			if pause == 0 {
				want += "; interrupted " + slot
			}
			if r.want(want); r.m.State().Failures != deaths+1 {
				t.Errorf("after %d deaths: %+v", deaths+1, r.m.State())
			}
			state, now = r.m.State(), now+10
			state.Mark = sec(1000) // no other tick comes
		}
		state.Open[0].ID = "x"
		r := lead(t, j, now, state).work().want("lost " + slot)
		if last := r.m.State().Last; last.Err != jobmachine.ReasonDeadly+"4 times" || len(r.m.State().Open) > 0 {
			t.Errorf("%+v", last)
		}
	}
}

func TestNext_ARunCutOffByAStopStaysOpenWithAtLeastOnce(t *testing.T) {
	cutOff := func(e *jobmachine.Returned) {
		e.State, e.Err, e.CutOff = jobstore.StateFailed, "the leader stops", true
	}
	for name, test := range map[string]struct {
		atLeastOnce    bool
		reported, next string
		failures       int
	}{
		"at least once": {true, "interrupted 60s", "run 60s attempt 2 late", 0},
		"at most once":  {false, "failed 60s", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			j.AtLeastOnce = test.atLeastOnce
			r := lead(t, j, 60, stateOf(j, 0)).work()
			r.send(jobmachine.Drain{})
			r.at(65).returns(cutOff)
			if wake, _ := r.m.Wake(); wake.IsZero() || wake.After(sec(65)) || r.m.IsAtRest() {
				t.Errorf("the end is written at %v", wake)
			}
			r.work().want(test.reported)
			if !r.m.IsAtRest() || r.m.State().Failures != test.failures {
				t.Errorf("at rest: %v, state %+v", r.m.IsAtRest(), r.m.State())
			}
			next := lead(t, j, 70, r.m.State()).work().want(test.next)
			if test.atLeastOnce && next.asks > 0 {
				t.Error("the next leader waits for a run that has returned")
			}
		})
	}
}

// Too few nodes have confirmed the write that opened the run, and one that has it promises the leader's next ballot.
func TestNext_ARunThatWasOnlyOpenedIsStarted(t *testing.T) {
	for name, test := range map[string]struct {
		catchUp time.Duration
		again   float64
		want    string
	}{
		"in the window": {time.Hour, 70, "run 60s late"},
		"too late":      {5 * time.Second, 70, "missed 60s"},
	} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			j.CatchUp.Window = test.catchUp
			r := lead(t, j, 0, stateOf(j, 0)).work().at(60)
			kept := jobstore.Written{At: jobstore.At{Ballot: "b", Seq: 99}, State: *r.due().State}
			r.failed()
			r.at(test.again).send(jobmachine.Prepared{Now: r.now, Basis: jobstore.Basis{Known: true, Written: kept, Floor: sec(62)}})
			r.work().want(test.want)
		})
	}
	manual := openAt(60, true)
	manual.ID, manual.Attempt = "r0", 1
	j := minutely()
	lead(t, j, 3660, stateOf(j, 3660), withOpen(manual)).work().want("run manual 60s late")
	lead(t, j, 3661, stateOf(j, 3660), withOpen(manual)).work().want("missed manual 60s").wantMissed(0) // a trigger is no tick
}

func TestNext_ATriggerExpires(t *testing.T) {
	j := minutely()
	j.Schedule = every(24 * time.Hour)
	lead(t, j, 3700, stateOf(j, 0)).triggered(100).work().want("run manual 100s late")
	r := lead(t, j, 3700.001, stateOf(j, 0)).triggered(100).work().want("missed manual 100s: " + jobmachine.ReasonExpired)
	r.wantMissed(0) // a trigger is no tick
	r.wants(jobstore.ToTrigger, setting(100, true))
	r.work().want("")

	j.Overlap = jobmachine.Queue // even while the trigger waits
	r = lead(t, j, 10, stateOf(j, 0)).triggered(9).work().want("run manual 9s")
	r.at(20).triggered(20)
	r.at(3621).work().want("missed manual 20s: " + jobmachine.ReasonExpired)
}

// The end of a run was in a write that seemed to fail. Some nodes have it, and the leader learns of it when they promise another
// ballot.
func TestNext_AnEndThatOnlyAFailedWriteHasStoredIsReported(t *testing.T) {
	j := minutely()
	r := lead(t, j, 60, stateOf(j, 0)).work()
	kept := r.at(65).returns().due().State
	r.failed()
	r.send(jobmachine.Prepared{Now: r.now, Basis: jobstore.Basis{Known: true, Written: jobstore.Written{
		At: jobstore.At{Ballot: "b", Seq: 99}, State: *kept,
	}}})
	r.work().want("ok 60s")
	if last := r.m.State().LastOK; !r.m.IsAtRest() || last == nil || last.Slot != tick(60) {
		t.Errorf("state %+v", r.m.State())
	}
	if r.work(); len(r.reported) > 0 {
		t.Errorf("reported again: %+v", r.reported)
	}
}

// The job had AtLeastOnce when its run was cut off, and no longer has it.
func TestNext_ARunThatNobodyRepeatsIsNotInterrupted(t *testing.T) {
	j := minutely()
	r := lead(t, j, 60, stateOf(j, 0)).work()
	r.at(65).returns(func(e *jobmachine.Returned) { e.State, e.CutOff = jobstore.StateInterrupted, true }).work().want("failed 60s")
}

// The first attempt fails at 65 s. In the pause the run is open and under way nowhere, and any leader makes the next attempt.
func TestNext_ARunInItsPauseIsLeftToAnyLeader(t *testing.T) {
	for name, test := range map[string]struct {
		atLeastOnce bool
		drains      bool
		next        float64 // when another leader begins; 0: none does
		floor       float64
		want        string // at 95 s
	}{
		"this leader":                               {want: "run 60s attempt 2"},
		"another one":                               {next: 70, want: "run 60s attempt 2"},
		"another one, after a drain":                {drains: true, next: 70, want: "run 60s attempt 2"},
		"another one, later":                        {next: 94, want: "run 60s attempt 2"},
		"the nodes may have lost that it went on":   {next: 94, floor: 95, want: "lost 60s"},
		"they may, and it runs at least once":       {atLeastOnce: true, next: 94, floor: 95, want: "run 60s attempt 5 late; interrupted 60s"},
		"the nodes lost something before the pause": {next: 80, floor: 82, want: "run 60s attempt 2"},
	} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			j.Tries, j.AtLeastOnce = 4, test.atLeastOnce
			r := lead(t, j, 60, stateOf(j, 0)).work().want("run 60s")
			if test.drains {
				r.send(jobmachine.Drain{})
			}
			r.at(65).returns(func(e *jobmachine.Returned) { e.State, e.Pause = jobstore.StateFailed, 30*time.Second }).work().want("")
			if !r.m.IsAtRest() || r.m.State().Failures != 0 {
				t.Errorf("at rest: %v, state %+v", r.m.IsAtRest(), r.m.State())
			}
			if test.next > 0 {
				state := r.m.State()
				state.Open[0].ID = "x" // of another leader
				r = lead(t, j, test.next, state, func(e *jobmachine.Prepared) {
					if test.floor > 0 {
						e.Basis.Floor = sec(test.floor)
					}
				})
			}
			r.at(94.9).work()
			if wake, _ := r.m.Wake(); test.floor < 90 && (r.asks > 0 || !wake.Equal(sec(94.999))) {
				t.Errorf("asks %d times, Wake is %v", r.asks, wake.Sub(day))
			}
			if test.floor < 90 {
				r.at(95).work()
			}
			r.want(test.want)
		})
	}
}
