package jobmachine

import (
	"slices"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// inherit settles the runs that an earlier leader has left open. A run that may have started is lost or, if the job runs at
// least once, runs again. A run that this process opened and did not start is started.
func (d *draft) inherit() {
	for _, o := range slices.Clone(d.state.Open) {
		unstarted := slices.Contains(d.m.unstarted, o.ID)
		switch {
		case d.m.isOurs(o.ID) || d.isStarting(o.ID):
		case !unstarted && !d.m.job.AtLeastOnce:
			d.loseOne(o)
		case d.state.Pause.On && !o.Slot.Manual: // it waits
			d.keep(o, unstarted)
		case !d.mayOpen():
			d.keep(o, unstarted)
			d.blocks = true // the run under way may be of a newer tick: it is not replaced
		default:
			again := jobstore.Open{Slot: o.Slot, Attempt: o.Attempt, Late: o.Late || !unstarted || d.isLate(o.Slot)}
			if !unstarted {
				again.Attempt += max(o.Tries, 1)
			}
			d.remove(o.ID)
			d.start(again)
			d.opens = d.opens || !o.Slot.Manual
		}
	}
}

func (d *draft) isStarting(id string) bool {
	return slices.ContainsFunc(d.starts, func(s Start) bool { return s.Open.ID == id })
}

func (d *draft) keep(o jobstore.Open, unstarted bool) {
	if unstarted {
		d.kept = append(d.kept, o.ID)
	}
}

func (d *draft) isLate(slot jobstore.Slot) bool {
	at := slot.At
	if !slot.Manual {
		at = d.m.job.StartOf(at)
	}
	return at.Before(d.due.Now.Add(-Fresh))
}

func (d *draft) remove(id string) {
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
	d.remove(o.ID)
	d.end(recordOf(o, jobstore.StateLost, ReasonGone, d.due.Now))
}
