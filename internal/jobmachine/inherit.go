package jobmachine

import (
	"slices"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// inherit settles the runs that an earlier leader has left open. They may have started: each is lost, or runs again if the job has
// AtLeastOnce. A run that this leader opened and did not start is started.
func (d *draft) inherit() {
	for _, o := range slices.Clone(d.state.Open) {
		// A further attempt may have started as an earlier one.
		unstarted := d.m.isUnstarted(o) && (o.Attempt == 1 || d.m.job.AtLeastOnce)
		switch {
		case d.m.isOurs(o.ID) || d.isStarting(o.ID):
		case !unstarted && !d.m.job.AtLeastOnce:
			d.loseOne(o)
		case d.state.Pause.On && !o.Slot.Manual: // it waits for the end of the pause
		case !d.m.job.AtLeastOnce && d.isTooOld(o.Slot):
			d.close(o.ID)
			d.end(o.Record(jobstore.StateMissed, reasonLate, d.due.Now))
		case !d.isFree():
			d.block() // the run under way is not replaced, since it may be for a newer tick
		default:
			rerun := jobstore.Open{Slot: o.Slot, Attempt: o.Attempt, Late: o.Late || !unstarted || d.isLate(o.Slot)}
			if !unstarted {
				rerun.Attempt += max(o.Tries, 1)
			}
			d.close(o.ID)
			d.start(rerun)
			d.opens = d.opens || !o.Slot.Manual
		}
	}
}

func (d *draft) isStarting(id string) bool {
	return slices.ContainsFunc(d.starts, func(s Start) bool { return s.Open.ID == id })
}

func (d *draft) isLate(slot jobstore.Slot) bool {
	at := slot.At
	if !slot.Manual {
		at = d.m.job.StartOf(at)
	}
	return at.Before(d.due.Now.Add(-LateTolerance))
}

// isTooOld reports whether a slot has waited too long to run for the first time.
func (d *draft) isTooOld(slot jobstore.Slot) bool {
	if slot.Manual {
		return d.due.Now.Sub(slot.At) > triggerExpires
	}
	return d.m.job.isLate(slot.At, d.due.Now)
}

func (d *draft) close(id string) {
	d.state.Open = slices.DeleteFunc(d.state.Open, func(o jobstore.Open) bool { return o.ID == id })
}

// lose records the open runs of earlier leaders as lost.
func (d *draft) lose() {
	for _, o := range slices.Clone(d.state.Open) {
		if !d.m.isOurs(o.ID) {
			d.loseOne(o)
		}
	}
}

func (d *draft) loseOne(o jobstore.Open) {
	d.close(o.ID)
	d.end(o.Record(jobstore.StateLost, ReasonGone, d.due.Now))
}
