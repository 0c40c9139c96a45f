package jobmachine

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// maxOpened is how many runs are opened beside each other in one write.
const maxOpened = 100

// ticks decides on the ticks that have come, the oldest first, up to the first one that is run: all before it are left out.
func (d *draft) ticks() {
	if d.state.Pause.On {
		return
	}
	j, now := d.m.job, d.due.Now
	if len(d.m.runs) == 0 {
		now = now.Add(early)
	}
	for len(d.starts) < maxOpened {
		all := j.due(d.state.Mark, now)
		if all.n == 0 {
			d.wakeForNext(d.state.Mark)
			return
		}
		seg, waited := d.segment(all, now)
		if waited && j.Overlap == Skip {
			d.leaveOut(seg, jobstore.StateSkipped, ReasonOverlap)
			continue
		}
		tick := d.pick(all, seg, waited, now)
		if tick.IsZero() {
			d.leaveOut(seg, jobstore.StateMissed, d.why(seg.last, waited))
			continue
		}
		if !d.mayOpen() {
			d.wait(j.StartOf(all.last))
			d.wakeForNext(all.last)
			return
		}
		if tick.After(seg.first) {
			before := j.between(seg.first, tick.Add(-time.Nanosecond))
			d.leaveOut(before, jobstore.StateMissed, d.why(before.last, waited))
		}
		d.open(jobstore.Slot{At: tick})
	}
	d.wakeAt(now)
}

// wakeForNext has the job looked at when the run of the first tick after an instant begins. Ticks that wait for a run need no
// timer of their own; but Skip, and Replace, do something about those that come after them.
func (d *draft) wakeForNext(after time.Time) {
	j := d.m.job
	next := j.Schedule.Next(after)
	if next.IsZero() {
		return
	}
	at := j.StartOf(next)
	if len(d.m.runs) == 0 {
		at = at.Add(-early)
	}
	d.wakeAt(at)
}

// segment returns the first of the ticks that have come: those that came during one run, or between two. waited says which.
func (d *draft) segment(all ticks, now time.Time) (seg ticks, waited bool) {
	j := d.m.job
	if j.Overlap == Allow {
		return all, false
	}
	first := j.StartOf(all.first)
	if s, ok := d.m.spanAt(first); ok {
		if s.end.IsZero() || s.end.After(now) {
			return all, true
		}
		return j.due(d.state.Mark, s.end.Add(-time.Nanosecond)), true
	}
	if next, ok := d.m.nextSpan(first); ok && !next.After(now) {
		return j.due(d.state.Mark, next.Add(-time.Nanosecond)), false
	}
	return all, false
}

// pick returns the tick of the segment that is run next; the zero time if none of it is.
func (d *draft) pick(all, seg ticks, waited bool, now time.Time) time.Time {
	j := d.m.job
	if j.CatchUp.All {
		oldest := j.oldest(d.state.Mark, now, waited)
		if oldest.IsZero() || oldest.After(seg.last) {
			return time.Time{}
		}
		return later(oldest, seg.first)
	}
	newest := all.last
	if j.Overlap == Skip {
		newest = d.newestToRun(all)
	}
	if !newest.Equal(seg.last) || !waited && j.isLate(newest, now) {
		return time.Time{}
	}
	return newest
}

// newestToRun returns the newest of the ticks that came while no run was under way; zero: there is none.
func (d *draft) newestToRun(all ticks) time.Time {
	tick := all.last
	for range len(d.m.spans) + 1 {
		s, under := d.m.spanAt(d.m.job.StartOf(tick))
		if !under {
			return tick
		}
		before := d.m.job.due(d.state.Mark, s.start.Add(-time.Nanosecond))
		if before.n == 0 {
			return time.Time{}
		}
		tick = before.last
	}
	return tick
}

// why is the reason for which a tick was not run when it was due.
func (d *draft) why(tick time.Time, waited bool) string {
	m, at := d.m, d.m.job.StartOf(tick)
	switch {
	case waited:
		return ReasonSuperseded
	case !m.failedSince.IsZero() && !at.Before(m.failedSince.Add(-Fresh)):
		return "too few nodes stored it from " + clock(m.failedSince) + " to " + clock(d.due.Now)
	case !at.After(m.prepared) && m.absence != "":
		return m.absence
	}
	return reasonLate
}

// forgotten leaves out the ticks, and the trigger, of which nodes have lost what became of them. A job that runs at least once
// has the trigger and the newest tick run: twice rather than never.
func (d *draft) forgotten(in mode) {
	j, floor := d.m.job, d.m.floor
	again := j.AtLeastOnce && in != removed
	if t := d.m.trigger; !d.m.isNew && t.On && t.At().After(d.state.Manual) && !t.At().After(floor) {
		slot := jobstore.Slot{At: t.At(), Manual: true}
		if !again || d.isTooOld(slot) || !d.suppose(slot, ".m") {
			d.refuse(slot, jobstore.StateMissed, ReasonForgotten)
		}
	}
	if !floor.After(d.state.Mark) {
		return
	}
	lost := d.unsettled(floor)
	if last := lost.last; lost.n > 0 && again && !j.isLate(last, d.due.Now) && d.suppose(jobstore.Slot{At: last}, ".t") {
		lost = d.unsettled(last.Add(-time.Nanosecond))
	}
	d.leaveOut(lost, jobstore.StateMissed, ReasonForgotten)
	d.state.Mark, d.changed = later(d.state.Mark, floor), true
}

// suppose has a run open that an earlier leader may have started: it is taken over like all of these. It does nothing, and returns
// false, if as many runs are open as a state can have.
func (d *draft) suppose(slot jobstore.Slot, suffix string) bool {
	if !d.hasRoom() {
		return false
	}
	o := jobstore.Open{
		Slot: slot, ID: d.due.ID + suffix, Attempt: 1, Tries: max(d.m.job.Tries, 1), Token: d.due.Token, Replica: d.due.Replica,
		Start: slot.At,
	}
	d.state.Open, d.changed = append(d.state.Open, o), true
	if slot.Manual {
		d.state.Manual = slot.At
	}
	return true
}
