package jobmachine

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// plan takes over a changed spec or zone, and a removed job that is back. Ticks from before are over then, except for those that the
// new plan has as well.
func (d *draft) plan() {
	j := d.m.job
	switch {
	case d.state.Removed:
		d.state.Removed, d.changed = false, true
		d.skipTo(d.due.Now)
	case d.state.Plan != j.Plan:
		d.dropKept(ReasonChanged, func(t time.Time) bool { return !j.hasTick(t) })
		d.keepShared()
		d.dropTicks(d.unsettled(d.due.Now), jobstore.StateMissed, ReasonChanged)
		d.skipTo(d.due.Now)
	}
	if d.state.Plan != j.Plan {
		d.state.Plan, d.changed = j.Plan, true
	}
}

func (j *Job) hasTick(t time.Time) bool { return j.Schedule.Next(t.Add(-time.Nanosecond)).Equal(t) }

// keepShared keeps the ticks that are in both plans and may still run.
func (d *draft) keepShared() {
	for _, t := range d.shared() {
		d.dropTicks(d.unsettled(t.Add(-time.Nanosecond)), jobstore.StateMissed, ReasonChanged)
		d.state.Kept, d.state.Mark = append(slices.Clip(d.state.Kept), t), t
	}
}

// kept opens the ticks that a changed plan has kept, as far as they may run now.
func (d *draft) kept(now time.Time) {
	j := d.m.job
	d.dropKept(reasonLate, func(t time.Time) bool { return j.isLate(t, now) })
	newest := j.NewestDue(d.state.Mark, now)
	if kept := d.state.Kept; len(kept) > 0 && !j.CatchUp.All {
		d.dropKept(ReasonSuperseded, func(t time.Time) bool { return !newest.IsZero() || t.Before(kept[len(kept)-1]) })
	}
	for len(d.state.Kept) > 0 && len(d.starts) < maxOpened {
		t := d.state.Kept[0]
		if start := j.StartOf(t); start.After(now) {
			d.wakeAt(start.Add(-d.early()))
			return
		}
		if !d.mayOpen() {
			come := d.state.Kept
			if n := slices.IndexFunc(come, func(t time.Time) bool { return j.StartOf(t).After(now) }); n > 0 { // these wait for their jitter
				d.wakeAt(j.StartOf(come[n]))
				come = come[:n]
			}
			d.wait(j.StartOf(later(come[len(come)-1], newest)))
		}
		if !d.mayOpen() {
			d.wakeForNext(later(d.state.Mark, newest))
			return
		}
		d.state.Kept = d.state.Kept[1:]
		d.open(t)
	}
}

// dropKept records that kept ticks do not run: some of them, or all if which is nil.
func (d *draft) dropKept(reason string, which func(tick time.Time) bool) {
	d.state.Kept = slices.DeleteFunc(slices.Clone(d.state.Kept), func(t time.Time) bool {
		isDropped := which == nil || which(t)
		if isDropped {
			d.dropTicks(ticks{first: t, last: t, n: 1}, jobstore.StateMissed, reason)
		}
		return isDropped
	})
}

// shared returns the ticks of both plans that have come, are not settled and may still run, the oldest first. Without [CatchUp].All,
// that is only the newest.
func (d *draft) shared() (all []time.Time) {
	j, old, now := d.m.job, d.m.before, d.due.Now
	if old == nil || isPaused(d.state) {
		return nil
	}
	after := later(later(d.state.Mark, d.m.floor), now.Add(-j.CatchUp.Window-j.Jitter))
	for {
		t, other := old.Next(after), j.Schedule.Next(after)
		if t.IsZero() || other.IsZero() || later(t, other).After(now) {
			break
		}
		if !t.Equal(other) {
			after = later(t, other).Add(-time.Nanosecond)
			continue
		}
		_, inRun := d.m.spanAt(j.StartOf(t))
		if !j.isLate(t, now) && !d.state.Ran.Has(t) && !(inRun && j.Overlap == Skip) {
			all = append(all, t)
		}
		after = t
	}
	most := jobstore.MaxOpen
	if !j.CatchUp.All {
		most = 1
	}
	return all[max(0, len(all)-most):]
}

// remove records in the state that the leader no longer has the job.
func (d *draft) remove() {
	for r, slot := range d.forRuns() {
		d.refuse(r, slot, jobstore.StateMissed, ReasonRemoved)
	}
	if d.state.Removed {
		return
	}
	d.endPauses()
	d.dropKept(ReasonRemoved, nil)
	d.dropTicks(d.unsettled(d.due.Now), jobstore.StateMissed, ReasonRemoved)
	d.skipTo(d.due.Now) // the mark says since when
	d.state.Removed, d.changed = true, true
}

// unsettled returns the ticks of the stored plan that have come by an instant and are not settled. There are none during a pause.
func (d *draft) unsettled(by time.Time) ticks {
	schedule := d.m.job.Schedule
	if d.state.Plan != d.m.job.Plan {
		schedule = d.m.before
	}
	if schedule == nil || isPaused(d.state) { // nil: the plan cannot be parsed
		return ticks{}
	}
	stored := Job{Schedule: schedule}
	first := schedule.Next(d.state.Mark)
	if first.IsZero() || first.After(by) {
		return ticks{}
	}
	return stored.between(first, by)
}
