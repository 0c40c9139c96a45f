package jobmachine_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

func rerunOf(tick, at float64) jobmachine.Asked {
	return jobmachine.Asked{Now: sec(at), Request: jobstore.Request{Verb: jobstore.ToRerun, Tick: sec(tick), Setting: setting(at, true)}}
}

// A rerun is like a triggered run, and has the tick's own key.
func TestNext_ARerun(t *testing.T) {
	again := jobstore.Slot{At: sec(60), Manual: true, Again: true}
	for name, test := range map[string]struct {
		change func(j *jobmachine.Job)
		lead   func(e *jobmachine.Prepared)
		at     float64
		want   string
		marks  int
	}{
		"runs":                    {at: 100, want: "run manual 60s attempt 2", marks: 1},
		"runs in a pause":         {at: 100, lead: func(e *jobmachine.Prepared) { e.Basis.State.Pause = setting(90, true) }, want: "run manual 60s attempt 2", marks: 1},
		"expires":                 {at: 99 + 3601, want: "missed manual 60s: " + jobmachine.ReasonExpired, marks: 1},
		"is unknown after a loss": {at: 100, lead: withFloor(99.5), want: "missed manual 60s: " + unknown, marks: 1},
		"runs after a loss all the same": {
			at: 100, change: func(j *jobmachine.Job) { j.AtLeastOnce = true }, lead: withFloor(99.5), want: "run manual 60s attempt 3 late", marks: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := minutely()
			j.Schedule = every(24 * time.Hour)
			j.Plan = "day"
			if test.change != nil {
				test.change(j)
			}
			state := stateOf(j, 99)
			var more []func(*jobmachine.Prepared)
			if test.lead != nil {
				more = append(more, test.lead)
			}
			r := lead(t, j, test.at, state, more...)
			r.send(rerunOf(60, 99))
			mark := r.m.State().Mark
			r.work().want(test.want)
			if len(r.started) > 0 && r.started[0].Open.Slot != again {
				t.Errorf("started %+v", r.started)
			}
			if s := r.m.State(); len(s.Reruns) != test.marks || s.Mark.Before(mark) || s.Manual != (jobstore.Mark{}) || s.Missed != 0 {
				t.Errorf("state %+v", s)
			}
			r.send(rerunOf(60, 99)) // a node still has the request
			r.work().want("")
		})
	}
}

// A tick that has run again may do so once more when the nodes' clocks were set back.
func TestNext_ARerunAfterASetBack(t *testing.T) {
	j := minutely()
	j.Plan, j.Schedule = "day", every(24*time.Hour)
	state := stateOf(j, 0)
	state.Reruns = []jobstore.Rerun{{Tick: sec(60), Mark: setting(900, true).Mark}}
	r := lead(t, j, 630, state, withSetBack)
	request := rerunOf(60, 901).Request // above the one before
	r.send(jobmachine.Asked{Now: r.now, Request: request})
	r.work().want("run manual 60s attempt 2")
}

// While a run is under way, a rerun is skipped or waits, as the overlap says.
func TestNext_ARerunObeysTheOverlap(t *testing.T) {
	r := lead(t, minutely(), 60, stateOf(minutely(), 0)).work().want("run 60s")
	r.at(70).send(rerunOf(0, 65))
	r.work().want("skipped manual 0s: " + jobmachine.ReasonOverlap)
	if outcome := r.m.State().Reruns[0].Outcome; outcome.State != jobstore.StateSkipped {
		t.Errorf("the outcome is %+v", outcome)
	}

	j := withOverlap(jobmachine.Queue)
	r = lead(t, j, 60, stateOf(j, 0)).work().want("run 60s")
	r.at(70).send(rerunOf(0, 65))
	r.work().want("")
	r.at(80).returns().work().want("run manual 0s attempt 2; ok 60s")
	r.at(90).send(rerunOf(0, 85)) // somebody asks once more before it has ended
	r.work().want("")
	r.at(95).returns().work().want("ok manual 0s")
	if outcome := r.m.State().Reruns[0].Outcome; outcome.State != jobstore.StateOK || outcome.Attempt != 2 {
		t.Errorf("the outcome is %+v", outcome)
	}
	r.at(100).send(rerunOf(0, 99))
	r.work().want("run manual 0s attempt 3")
}
