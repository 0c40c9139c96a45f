package jobmachine

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// maxOpened is how many runs one write may open.
const maxOpened = 100

// backlog describes the ticks that have come and are not decided. It has results of searches over all these ticks, so that a [Due]
// needs each search only once.
type backlog struct {
	now    time.Time
	newest time.Time          // the newest tick that has come; zero: none has
	toRun  time.Time          // the newest tick that may run; with Skip, one that came while no run was under way
	oldest map[bool]time.Time // the oldest tick that [CatchUp].All runs, by whether it waited for a run
}

func (d *draft) newBacklog(now time.Time) *backlog {
	j := d.m.job
	b := &backlog{now: now, newest: j.NewestDue(d.state.Mark, now)}
	b.toRun = b.newest
	switch {
	case j.CatchUp.All:
		b.oldest = make(map[bool]time.Time)
	case j.Overlap == Skip:
		b.toRun = d.newestToRun(b.newest)
	}
	return b
}

// ticks decides on the ticks that have come, the oldest first. Ticks before one that runs are missed or skipped.
func (d *draft) ticks() {
	if isPaused(d.state) {
		for _, p := range []jobstore.Setting{d.state.Pause, d.state.All} {
			if p.On {
				d.wakeAt(p.Until)
			}
		}
		return
	}
	j, now := d.m.job, d.due.Now.Add(d.early())
	d.ranBefore(now)
	d.zoneData(now)
	if d.kept(now); len(d.state.Kept) > 0 {
		return
	}
	b := d.newBacklog(now)
	for len(d.starts) < maxOpened {
		first := j.Schedule.Next(d.state.Mark)
		if first.IsZero() || first.After(b.newest) { // whatever a schedule says, each iteration settles a tick
			d.wakeForNext(d.state.Mark)
			return
		}
		last, waited := d.segment(b, first)
		if waited && j.Overlap == Skip {
			d.dropTicks(j.between(first, last), jobstore.StateSkipped, ReasonOverlap)
			continue
		}
		tick := d.pick(b, first, last, waited)
		if tick.IsZero() {
			d.dropTicks(j.between(first, last), jobstore.StateMissed, d.why(last, waited))
			continue
		}
		if !d.mayOpen() {
			d.wait(j.StartOf(b.newest))
		}
		if !d.mayOpen() {
			d.wakeForNext(b.newest)
			return
		}
		if tick.After(first) {
			before := j.between(first, tick.Add(-time.Nanosecond))
			d.dropTicks(before, jobstore.StateMissed, d.why(before.last, waited))
		}
		d.open(tick)
	}
	d.wakeAt(now)
}

// wakeForNext wakes the job when the run of the first tick after an instant begins. It is needed even while ticks wait for a run,
// because Skip and Replace act when the next tick comes.
func (d *draft) wakeForNext(after time.Time) {
	j := d.m.job
	next := j.Schedule.Next(after)
	if next.IsZero() {
		return
	}
	d.wakeAt(j.StartOf(next).Add(-d.early()))
}

// early returns how long before its tick a run is opened.
func (d *draft) early() time.Duration {
	if len(d.m.runs) > 0 || !d.isFree() {
		return 0
	}
	return early
}

// segment returns the last of the ticks from the first one on that came during the same run, or between the same two runs. waited
// reports whether they came during a run.
func (d *draft) segment(b *backlog, first time.Time) (last time.Time, waited bool) {
	j := d.m.job
	if j.Overlap == Allow {
		return b.newest, false
	}
	start := j.StartOf(first)
	if s, ok := d.m.spanAt(start); ok {
		if s.end.IsZero() || s.end.After(b.now) {
			return b.newest, true
		}
		return j.NewestDue(d.state.Mark, s.end.Add(-time.Nanosecond)), true
	}
	if next, ok := d.m.nextSpan(start); ok && !next.After(b.now) {
		return j.NewestDue(d.state.Mark, next.Add(-time.Nanosecond)), false
	}
	return b.newest, false
}

// pick returns the tick of the segment that runs next, or the zero time if none of them runs.
func (d *draft) pick(b *backlog, first, last time.Time, waited bool) time.Time {
	j := d.m.job
	if j.CatchUp.All {
		oldest, ok := b.oldest[waited]
		if !ok {
			oldest = j.oldest(d.state.Mark, b.now, waited)
			b.oldest[waited] = oldest
		}
		if oldest.IsZero() || oldest.After(last) {
			return time.Time{}
		}
		return later(oldest, first)
	}
	if !b.toRun.Equal(last) || !waited && j.isLate(last, b.now) {
		return time.Time{}
	}
	return last
}

// newestToRun returns the newest tick up to the given one that came while no run was under way, or the zero time if there is none.
func (d *draft) newestToRun(tick time.Time) time.Time {
	for range len(d.m.spans) + 1 {
		s, under := d.m.spanAt(d.m.job.StartOf(tick))
		if !under || tick.IsZero() {
			break
		}
		tick = d.m.job.NewestDue(d.state.Mark, s.start.Add(-time.Nanosecond))
	}
	return tick
}

// why returns the reason why a tick did not run when it was due.
func (d *draft) why(tick time.Time, waited bool) string {
	m, at := d.m, d.m.job.StartOf(tick)
	switch {
	case waited:
		return ReasonSuperseded
	case !m.failedSince.IsZero() && !at.Before(m.failedSince.Add(-LateTolerance)):
		return "too few nodes stored it from " + clock(m.failedSince) + " to " + clock(d.due.Now)
	case !at.After(m.prepared) && m.absence != "":
		return m.absence
	case slices.ContainsFunc(m.spans, func(s span) bool { return s.unsure && s.covers(at) }):
		return reasonEarlier
	}
	return reasonLate
}

// missUnknown records the ticks and the requests for runs whose outcome the nodes have lost as missed. A job with AtLeastOnce runs what
// was asked for, and the newest tick, instead: twice rather than never.
func (d *draft) missUnknown(in mode) {
	j, floor, reason := d.m.job, d.m.floor, ReasonUnknown
	if d.m.wasSetBack {
		reason = ReasonSetBack
	}
	repeats := j.AtLeastOnce && in != removed
	for r, slot := range d.forRuns() {
		switch {
		case d.m.isNew || r.At().After(floor): // it was not lost
		case repeats && !d.isExpired(r) && d.suppose(slot):
			d.apply(r)
		default:
			d.refuse(r, slot, jobstore.StateMissed, reason)
		}
	}
	d.dropKept(reason, func(t time.Time) bool { return !t.After(floor) })
	if !floor.After(d.state.Mark) {
		return
	}
	lost := d.unsettled(floor)
	if last := lost.last; lost.n > 0 && repeats && !j.isLate(last, d.due.Now) && d.suppose(jobstore.Slot{At: last}) {
		d.opened = last
		lost = d.unsettled(last.Add(-time.Nanosecond))
	}
	d.dropTicks(lost, jobstore.StateMissed, reason)
	d.state.Mark, d.changed = later(d.state.Mark, floor), true
}

// suppose adds an open run that an earlier leader may have started, so that inherit takes it over like the others. It does nothing
// and returns false if the state already has the most open runs that it can have.
func (d *draft) suppose(slot jobstore.Slot) bool {
	if !d.hasRoom() {
		return false
	}
	o := jobstore.Open{
		Slot: slot, ID: Key("lost", slot.At, slot.Manual), Attempt: d.firstOf(slot), Tries: max(d.m.job.Tries, 1),
		Token: d.due.Token, Replica: d.due.Replica, Start: slot.At, Began: slot.At, Returned: true, // no process is known to be gone
	}
	d.state.Open, d.changed = append(d.state.Open, o), true
	return true
}
