package jobmachine

import (
	"iter"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Somebody may ask for a run: by a trigger, whose run has a key of its own, or for a tick that is settled, whose run has the tick's key.
// Such a run obeys the overlap policy, ignores a pause, and moves no mark of ticks.

// expires is how long a request for a run waits for a leader that can run it.
const expires = time.Hour

// slotOf returns the slot of a request for a run.
func slotOf(r jobstore.Request) (slot jobstore.Slot, ok bool) {
	switch r.Verb {
	case jobstore.ToTrigger:
		return jobstore.Slot{At: r.At(), Manual: true}, true
	case jobstore.ToRerun:
		return jobstore.Slot{At: r.Tick, Manual: true, Again: true}, true
	}
	return slot, false
}

// forRuns yields the requests for runs that are not applied, each with the slot of its run.
func (d *draft) forRuns() iter.Seq2[jobstore.Request, jobstore.Slot] {
	return func(yield func(jobstore.Request, jobstore.Slot) bool) {
		for _, r := range d.m.requests {
			if slot, ok := slotOf(r); ok && !d.state.Has(r) && !yield(r, slot) {
				return
			}
		}
	}
}

// manual decides on the requests for runs.
func (d *draft) manual() {
	d.dropReruns()
	for r, slot := range d.forRuns() {
		d.run(r, slot)
	}
}

// run decides on a request for a run.
func (d *draft) run(r jobstore.Request, slot jobstore.Slot) {
	_, under := d.m.spanAt(r.At())
	switch {
	case slot.Again && d.isOpen(r.Tick): // both have asked for the same run
		d.apply(r)
	case d.isExpired(r):
		d.refuse(r, slot, jobstore.StateMissed, ReasonExpired)
	case d.mayOpen():
		d.openFor(r, slot)
	case under && d.m.job.Overlap == Skip:
		d.refuse(r, slot, jobstore.StateSkipped, ReasonOverlap)
	default:
		if d.wait(r.At()); d.mayOpen() {
			d.openFor(r, slot)
		}
	}
}

func (d *draft) isExpired(r jobstore.Request) bool { return d.due.Now.Sub(r.At()) > expires }

// isOpen reports whether a run of a tick is open: its own, or one that somebody asked for.
func (d *draft) isOpen(tick time.Time) bool {
	return slices.ContainsFunc(d.state.Open, func(o jobstore.Open) bool {
		return o.Slot.At.Equal(tick) && (o.Slot.Again || !o.Slot.Manual)
	})
}

// openFor opens the run that a request is for.
func (d *draft) openFor(r jobstore.Request, slot jobstore.Slot) {
	d.apply(r)
	d.start(jobstore.Open{Slot: slot, Attempt: d.firstOf(slot), Late: !slot.Again && d.isLate(slot)})
}

// firstOf returns the number of a slot's first attempt. If a tick runs again, it is above that of the tick's newest run if that is
// known, and at least 2.
func (d *draft) firstOf(slot jobstore.Slot) int {
	switch last := d.state.Last; {
	case !slot.Again:
		return 1
	case last != nil && last.Slot.At.Equal(slot.At):
		return max(2, last.Attempt+1)
	}
	return 2
}

// refuse records that the run of a request does not take place.
func (d *draft) refuse(r jobstore.Request, slot jobstore.Slot, state, reason string) {
	d.apply(r)
	row := jobstore.Record{
		Slot: slot, State: state, Err: reason, Token: d.due.Token, Replica: d.due.Replica, Start: d.due.Now, End: d.due.Now,
	}
	if !slot.Again { // a tick that does not run again has had its own outcome
		d.notRun(row)
	}
	d.row(row)
}

// apply records in the state that a request is applied. Of reruns the state keeps that for a while, because somebody may wait for the
// outcome.
func (d *draft) apply(r jobstore.Request) {
	d.applied, d.changed = append(d.applied, r), true
	mark := r.Mark // of what was asked for before the run was opened: that is the same run
	mark.Version = max(mark.Version, d.due.Now.UnixMicro())
	switch r.Verb {
	case jobstore.ToTrigger:
		d.state.Manual = mark
	case jobstore.ToCancel:
		d.state.Canceled = r.Mark
	case jobstore.ToRerun:
		d.state.Reruns = slices.DeleteFunc(slices.Clone(d.state.Reruns), func(o jobstore.Rerun) bool { return o.Tick.Equal(r.Tick) })
		d.state.Reruns = append(d.state.Reruns, jobstore.Rerun{Tick: r.Tick, Mark: mark})
	}
}

// maxErrors is of how many reruns that have failed the state has the error.
const maxErrors = 20

// dropReruns drops requests that were applied, and whose runs have ended, so long ago that nobody waits for them.
func (d *draft) dropReruns() {
	d.state.Reruns = slices.DeleteFunc(slices.Clone(d.state.Reruns), func(r jobstore.Rerun) bool {
		return d.due.Now.Sub(r.Outcome.End) > 2*expires && !d.isOpen(r.Tick)
	})
	for i := range len(d.state.Reruns) - maxErrors {
		d.state.Reruns[i].Outcome.Err = ""
	}
}

// endRerun keeps the outcome of a tick's run for those who have asked for it and wait.
func (d *draft) endRerun(r jobstore.Record) {
	for i, o := range d.state.Reruns {
		if o.Tick.Equal(r.Slot.At) && o.Outcome.State == "" {
			d.state.Reruns = slices.Clone(d.state.Reruns)
			d.state.Reruns[i].Outcome = r
		}
	}
}
