package jobmachine

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// A tick that is settled may run again, if somebody asks for it. Its run has the tick's own key, moves no mark, and is otherwise like a
// triggered one: it obeys the overlap policy, and ignores a pause. The state keeps for a while which requests it has applied, because
// nodes may still have them, and what became of them, because somebody may wait for that.

// rerunTicks decides on the requests that no state has yet.
func (d *draft) rerunTicks() {
	d.state.Reruns = slices.DeleteFunc(slices.Clone(d.state.Reruns), func(r jobstore.Rerun) bool {
		return d.due.Now.Sub(r.At()) > 2*triggerExpires && !d.isOpen(r.Tick)
	})
	for _, r := range d.m.reruns {
		if !d.m.HasRerun(r) {
			d.rerun(r)
		}
	}
}

func (d *draft) rerun(r jobstore.Rerun) {
	slot := jobstore.Slot{At: r.Tick, Manual: true, Again: true}
	_, under := d.m.spanAt(r.At())
	switch {
	case d.isOpen(r.Tick):
		d.keepRerun(r)
	case d.due.Now.Sub(r.At()) > triggerExpires:
		d.keepRerun(r)
		d.refuse(slot, jobstore.StateMissed, ReasonExpired)
	case !d.m.isNew && !r.At().After(d.m.floor) && !d.m.job.AtLeastOnce:
		d.keepRerun(r)
		d.refuse(slot, jobstore.StateMissed, ReasonUnknown)
	case d.mayOpen():
		d.openAgain(r, slot)
	case under && d.m.job.Overlap == Skip:
		d.keepRerun(r)
		d.refuse(slot, jobstore.StateSkipped, ReasonOverlap)
	default:
		if d.wait(r.At()); d.mayOpen() {
			d.openAgain(r, slot)
		}
	}
}

// isOpen reports whether a run of a tick is open: its own, or one that somebody asked for.
func (d *draft) isOpen(tick time.Time) bool {
	return slices.ContainsFunc(d.state.Open, func(o jobstore.Open) bool {
		return o.Slot.At.Equal(tick) && (o.Slot.Again || !o.Slot.Manual)
	})
}

// openAgain opens the run, with a number above that of the tick's newest run if that is known, and at least the second.
func (d *draft) openAgain(r jobstore.Rerun, slot jobstore.Slot) {
	attempt := 2
	if last := d.state.Last; last.Slot.At.Equal(slot.At) {
		attempt = max(attempt, last.Attempt+1)
	}
	d.keepRerun(r)
	d.start(jobstore.Open{Slot: slot, Attempt: attempt})
	d.applied = append(d.applied, Setting{Setting: r.Setting, Rerun: r.Tick})
}

// keepRerun adds a request to the state, in place of an earlier one for the tick.
func (d *draft) keepRerun(r jobstore.Rerun) {
	d.state.Reruns = slices.DeleteFunc(slices.Clone(d.state.Reruns), func(other jobstore.Rerun) bool { return other.Tick.Equal(r.Tick) })
	r.Origin, r.On = jobstore.Origin{}, false // the nodes keep that elsewhere
	d.state.Reruns, d.changed = append(d.state.Reruns, r), true
}

// endRerun keeps the outcome of a tick's run for those who have asked for it and wait.
func (d *draft) endRerun(r jobstore.Record) {
	at := slices.IndexFunc(d.state.Reruns, func(other jobstore.Rerun) bool { return other.Tick.Equal(r.Slot.At) && other.Outcome.State == "" })
	if at >= 0 {
		d.state.Reruns = slices.Clone(d.state.Reruns)
		d.state.Reruns[at].Outcome = r
	}
}
