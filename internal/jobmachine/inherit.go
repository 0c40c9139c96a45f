package jobmachine

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// inherit settles the runs that an earlier leader has left open. They may have started: each is lost, or runs again if the job has
// AtLeastOnce. A run that this leader opened and did not start is started.
func (d *draft) inherit() {
	for _, o := range slices.Clone(d.state.Open) {
		unstarted := d.m.isUnstarted(o)
		switch {
		case d.m.isOurs(o.ID) || d.isStarting(o.ID):
		case o.Waits():
			d.goOn(o)
		case !o.Canceled.IsZero(), !unstarted && !d.m.job.AtLeastOnce:
			d.loseOne(o)
		case isPaused(d.state) && !o.Slot.Manual: // it waits for the end of the pause
		case !d.m.job.AtLeastOnce && d.isTooOld(o.Slot):
			d.close(o.ID)
			d.end(o.Record(jobstore.StateMissed, reasonLate, d.due.Now))
		case !d.isFree():
			d.block() // the run under way is not replaced, since it may be for a newer tick
		default:
			d.repeat(o, unstarted)
		}
	}
}

// repeat runs a slot again. Its attempt is above all that may have been used. If processes end during its run again and again, it waits
// longer each time, and at last does not run any more.
func (d *draft) repeat(o jobstore.Open, unstarted bool) {
	j := d.m.job
	rerun := jobstore.Open{
		Slot: o.Slot, Attempt: o.Attempt, Tries: o.Tries, Deaths: o.Deaths, Began: o.Began,
		Late: o.Late || !unstarted || o.Attempt == 1 && d.isLate(o.Slot),
	}
	if !unstarted {
		rerun.Attempt, rerun.Tries = o.Attempt+max(o.Tries, 1), 0
	}
	d.close(o.ID)
	if !unstarted && !o.Returned {
		rerun.Deaths++
		if j.MaxDeaths > 0 && rerun.Deaths >= j.MaxDeaths {
			d.end(o.Record(jobstore.StateLost, ReasonDeadly+strconv.Itoa(rerun.Deaths)+" times", d.due.Now))
			return
		}
		d.row(o.Record(jobstore.StateInterrupted, ReasonGone, d.due.Now))
		d.state.Failures++
		if rerun.Deaths > 1 {
			d.await(rerun, d.due.Now.Add(j.Pause(rerun.Deaths-1)))
			return
		}
	}
	d.start(rerun)
	d.opens = d.opens || !o.Slot.Manual
}

// await adds an open run of this leader that waits for its next attempt.
func (d *draft) await(o jobstore.Open, until time.Time) {
	j := d.m.job
	o.ID, o.Tries, o.Token, o.Replica = d.newID(), max(j.Tries, 1), d.due.Token, d.due.Replica
	o.NotBefore, o.Timeout = until, j.Timeout
	d.state.Open, d.changed = append(d.state.Open, o), true
	d.wakeAt(until.Add(-early))
}

// goOn starts the next attempt of a run that waits for it, if it is time. In this leader's term it is the same run.
func (d *draft) goOn(o jobstore.Open) {
	start := Start{At: o.NotBefore}
	switch {
	case o.Deaths > 0 && isPaused(d.state) && !o.Slot.Manual: // it waits for the end of the pause
		return
	case o.NotBefore.After(d.due.Now.Add(early)):
		d.wakeAt(o.NotBefore.Add(-early))
		return
	case d.m.job.Overlap != Allow && !d.isAlone():
		d.block()
		return
	}
	at := slices.Index(d.state.Open, o)
	if !d.m.isUnstarted(o) {
		o.ID, o.Token, o.Replica, o.Start = d.newID(), d.due.Token, d.due.Replica, time.Time{}
	}
	if o.Start.IsZero() {
		o.Start = later(d.due.Now, o.NotBefore)
	}
	o.NotBefore = time.Time{}
	start.Open = o
	d.state.Open[at] = o
	d.starts, d.changed = append(d.starts, start), true
}

// giveUp records that a run that waits for its next attempt has failed.
func (d *draft) giveUp(o jobstore.Open, reason string) {
	d.close(o.ID)
	r := o.Record(jobstore.StateFailed, reason, d.due.Now)
	r.Attempt--
	d.end(r)
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
	if slot.Again {
		return false // it was asked for within the hour
	}
	if slot.Manual {
		return d.due.Now.Sub(slot.At) > expires
	}
	return d.m.job.isLate(slot.At, d.due.Now)
}

func (d *draft) close(id string) {
	d.state.Open = slices.DeleteFunc(d.state.Open, func(o jobstore.Open) bool { return o.ID == id })
}

// lose records the open runs of earlier leaders as lost, and those that wait for an attempt as failed.
func (d *draft) lose() {
	for _, o := range slices.Clone(d.state.Open) {
		switch {
		case d.m.isOurs(o.ID):
		case o.Waits():
			d.giveUp(o, ReasonRemoved)
		default:
			d.loseOne(o)
		}
	}
}

func (d *draft) loseOne(o jobstore.Open) {
	d.close(o.ID)
	state := jobstore.StateLost
	if !o.Canceled.IsZero() {
		state = jobstore.StateCanceled
	}
	d.end(o.Record(state, ReasonGone, d.due.Now))
}
