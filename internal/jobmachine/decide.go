package jobmachine

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// maxOpened bounds the runs that one write opens beside each other.
const maxOpened = 100

// ticks decides on the ticks that have come, the oldest first. It leaves ticks out up to one that it opens.
func (d *draft) ticks() {
	if d.state.Pause.On {
		return
	}
	d.applyFloor()
	j, now := d.m.job, d.due.Now
	if len(d.m.runs) == 0 {
		now = now.Add(early)
	}
	for len(d.starts) < maxOpened {
		all := j.due(d.state.Mark, now)
		if all.n == 0 {
			d.wakeForNext()
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
			d.wait()
			d.wakeForNext()
			return
		}
		if tick.After(seg.first) {
			before := j.between(seg.first, tick.Add(-time.Nanosecond))
			d.leaveOut(before, jobstore.StateMissed, d.why(before.last, waited))
		}
		d.open(jobstore.Slot{At: tick}, 1, d.isLate(jobstore.Slot{At: tick}))
	}
	d.wakeAt(now)
}

// wakeForNext schedules the job's next Due for the first tick that has not come yet. Ticks that wait for a run need no timer of
// their own, but Skip and Replace act on those that come after them.
func (d *draft) wakeForNext() {
	j, now := d.m.job, d.due.Now
	next := j.Schedule.Next(d.state.Mark)
	if !next.IsZero() && d.blocks && !j.StartOf(next).After(now) { // it is the one that waits
		next = j.Schedule.Next(now)
	}
	if next.IsZero() {
		return
	}
	at := j.StartOf(next)
	if len(d.m.runs) == 0 {
		at = at.Add(-early)
	}
	d.wakeAt(at)
}

// segment returns the first of the ticks that have come: either those that came during one run, and waited is true, or those
// that came between two runs.
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

// pick returns the tick of the segment that runs next; the zero time if none does.
func (d *draft) pick(all, seg ticks, waited bool, now time.Time) time.Time {
	j := d.m.job
	if j.CatchUp.All {
		if waited {
			return seg.first
		}
		oldest := j.oldest(d.state.Mark, now)
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

// newestToRun returns the newest tick that came while no run was under way; the zero time if there is none.
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

// why returns why a tick did not run when it was due.
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

// applyFloor leaves out the ticks up to the floor: nodes have lost whether they ran. If the job runs at least once, it opens the
// newest of them again, if that is in the catch-up window.
func (d *draft) applyFloor() {
	j := d.m.job
	if d.m.floor.IsZero() || !d.m.floor.After(d.state.Mark) {
		return
	}
	first := j.Schedule.Next(d.state.Mark)
	if !first.IsZero() && !first.After(d.m.floor) {
		lost := j.between(first, d.m.floor)
		again := time.Time{}
		if j.AtLeastOnce && d.mayOpen() && !j.isLate(lost.last, d.due.Now) {
			again = lost.last
			lost = ticks{}
			if again.After(first) {
				lost = j.between(first, again.Add(-time.Nanosecond))
			}
		}
		d.leaveOut(lost, jobstore.StateMissed, ReasonForgotten)
		if !again.IsZero() {
			d.open(jobstore.Slot{At: again}, 2, true)
		}
	}
	d.state.Mark, d.changed = later(d.state.Mark, d.m.floor), true
}
