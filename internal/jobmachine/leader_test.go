package jobmachine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// rig leads one job without a loop. Its instants are seconds after day.
type rig struct {
	t        *testing.T
	m        jobmachine.Machine
	now      time.Time
	ids, seq int
	started  []jobmachine.Start // in the last call of work
	reported []jobstore.Record  // reported in the last call of work
	canceled []string           // since the rig was made
	asks     int                // how often the machine has asked for runs of earlier leaders
	unknown  bool               // the answer is left to the test; otherwise none is under way
	underWay []jobstore.Open    // in the order of their starts
}

// sec returns an instant, in seconds after day.
func sec(s float64) time.Time { return day.Add(time.Duration(s * float64(time.Second))) }

func tick(s float64) jobstore.Slot { return jobstore.Slot{At: sec(s)} }

// minutely returns a job of every minute with the default policies.
func minutely() *jobmachine.Job {
	return &jobmachine.Job{
		Name: "job", Plan: "minute", Schedule: every(time.Minute), CatchUp: jobmachine.CatchUp{Window: time.Hour}, Tries: 1,
	}
}

// stateOf returns the nodes' state of a job after the tick of an instant.
func stateOf(j *jobmachine.Job, mark float64) jobstore.State {
	return jobstore.State{Since: day.Add(-time.Hour), Plan: j.Plan, Mark: sec(mark)}
}

// lead makes a leader of the job begin at an instant, from the nodes' state.
func lead(t *testing.T, j *jobmachine.Job, at float64, state jobstore.State, more ...func(*jobmachine.Prepared)) *rig {
	t.Helper()
	r := &rig{t: t, m: jobmachine.New(j, "r"), now: sec(at)}
	e := jobmachine.Prepared{Now: r.now, Basis: known(state), Absence: "nobody led"}
	for _, change := range more {
		change(&e)
	}
	r.send(e)
	return r
}

// known is the basis of a state that a majority has.
func known(state jobstore.State) jobstore.Basis {
	return jobstore.Basis{Known: true, Written: jobstore.Written{State: state}}
}

func withFloor(at float64) func(*jobmachine.Prepared) {
	return func(e *jobmachine.Prepared) { e.Basis.Floor = sec(at) }
}

func setting(at float64, on bool) jobstore.Setting {
	id := fmt.Sprintf("%06x", int(10*at))
	if on {
		id = fmt.Sprintf("%06x", int(10*at)+1)
	}
	return jobstore.Setting{Mark: jobstore.Mark{Version: sec(at).UnixMicro(), ID: id}, On: on}
}

// wants makes the leader learn of a request.
func (r *rig) wants(verb jobstore.Verb, set jobstore.Setting) *rig {
	r.send(jobmachine.Asked{Now: r.now, Request: jobstore.Request{Verb: verb, Setting: set}})
	return r
}

// triggered makes the leader learn of a trigger.
func (r *rig) triggered(at float64) *rig { return r.wants(jobstore.ToTrigger, setting(at, true)) }

func (r *rig) send(e jobmachine.Event) jobmachine.Effects {
	m, effects := jobmachine.Next(r.m, e)
	r.m = m
	r.canceled = append(r.canceled, slices.Concat(effects.Replace, effects.Cancel)...)
	if effects.Ask {
		if r.asks++; !r.unknown {
			r.send(jobmachine.Free{Now: r.now})
		}
	}
	return effects
}

// at moves the time without any events.
func (r *rig) at(s float64) *rig {
	r.now = sec(s)
	return r
}

// due asks for a write.
func (r *rig) due() *jobstore.Write {
	r.ids++
	return r.send(jobmachine.Due{Now: r.now, ID: fmt.Sprintf("r%d", r.ids), Token: 7, Replica: "a"}).Write
}

func (r *rig) stored() {
	r.seq++
	effects := r.send(jobmachine.Stored{Now: r.now, At: jobstore.At{Ballot: "b", Seq: r.seq}})
	for _, s := range effects.Start {
		r.underWay = append(r.underWay, s.Open)
	}
	r.started, r.reported = append(r.started, effects.Start...), append(r.reported, effects.Report...)
}

func (r *rig) failed() { r.send(jobmachine.Failed{Now: r.now, Retry: r.now}) }

// work asks for writes and stores them until there is nothing to write. The starts and reports replace those of the last call.
func (r *rig) work() *rig {
	r.t.Helper()
	r.started, r.reported = nil, nil
	for range 20 {
		asks := r.asks
		switch write := r.due(); {
		case write != nil:
			r.stored()
		case r.asks == asks || r.unknown:
			return r
		}
	}
	r.t.Fatal("the writes never end")
	return r
}

// returns makes the run return that was started first.
func (r *rig) returns(change ...func(*jobmachine.Returned)) *rig {
	r.t.Helper()
	if len(r.underWay) == 0 {
		r.t.Fatal("no run is under way")
	}
	o := r.underWay[0]
	r.underWay = r.underWay[1:]
	e := jobmachine.Returned{ID: o.ID, State: jobstore.StateOK, Attempt: o.Attempt, End: r.now}
	for _, c := range change {
		c(&e)
	}
	r.send(e)
	return r
}

// summary returns the starts and reports of the last call of work, in words.
func (r *rig) summary() string {
	var all []string
	for _, s := range r.started {
		text := "run " + name(s.Open.Slot)
		if s.Open.Attempt > 1 {
			text += fmt.Sprintf(" attempt %d", s.Open.Attempt)
		}
		if s.Open.Late {
			text += " late"
		}
		all = append(all, text)
	}
	for _, t := range r.reported {
		text := t.State + " " + name(t.Slot)
		if t.Ticks > 0 {
			text += fmt.Sprintf(" (%d from %s)", t.Ticks, name(jobstore.Slot{At: t.From}))
		}
		if t.ID == "" {
			text += ": " + t.Err
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func name(s jobstore.Slot) string {
	text := fmt.Sprintf("%gs", s.At.Sub(day).Seconds())
	if s.Manual {
		text = "manual " + text
	}
	return text
}

// want fails the test unless these are the starts and reports.
func (r *rig) want(summary string) *rig {
	r.t.Helper()
	if got := r.summary(); got != summary {
		r.t.Errorf("at %v\ngot  %s\nwant %s", r.now.Sub(day), got, summary)
	}
	return r
}

func (r *rig) wantMissed(n int) {
	r.t.Helper()
	if got := r.m.State().Missed; got != n {
		r.t.Errorf("%d are counted as missed, want %d", got, n)
	}
}

// wantCanceled fails the test unless these runs were canceled, in this order.
func (r *rig) wantCanceled(slots ...string) {
	r.t.Helper()
	if !slices.Equal(r.canceled, slots) {
		r.t.Errorf("canceled %v, want %v", r.canceled, slots)
	}
}
