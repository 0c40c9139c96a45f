package jobmachine

import (
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
		d.keepShared()
		d.dropTicks(d.unsettled(d.due.Now), jobstore.StateMissed, ReasonChanged)
		d.skipTo(d.due.Now)
	}
	if d.state.Plan != j.Plan {
		d.state.Plan, d.changed = j.Plan, true
	}
}

// keepShared keeps the ticks that are in both plans and may still run. Each becomes a run that waits for its first attempt, which is of
// no plan any more.
func (d *draft) keepShared() {
	for _, t := range d.shared() {
		slot := jobstore.Slot{At: t}
		d.dropTicks(d.unsettled(t.Add(-time.Nanosecond)), jobstore.StateMissed, ReasonChanged)
		d.await(jobstore.Open{Slot: slot, Attempt: 1, Late: d.isLate(slot)}, d.m.job.StartOf(t))
		d.state.Mark = t
	}
}

// shared returns the ticks of both plans that have come, are not settled and may still run, the oldest first. Without [CatchUp].All,
// that is only the newest, and otherwise the newest for which there is room.
func (d *draft) shared() (all []time.Time) {
	j, old, now := d.m.job, d.m.before, d.due.Now
	if old == nil || isPaused(&d.state) {
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
	most := jobstore.MaxOpen - len(d.state.Open)
	if !j.CatchUp.All {
		most = min(most, 1)
	}
	return all[max(0, len(all)-most):]
}

// remove records in the state that the leader no longer has the job.
func (d *draft) remove() {
	if d.state.Removed {
		return
	}
	d.endPauses()
	d.dropTicks(d.unsettled(d.due.Now), jobstore.StateMissed, ReasonRemoved)
	d.state.Removed, d.changed = true, true
}

// unsettled returns the ticks of the stored plan that have come by an instant and are not settled. There are none during a pause.
func (d *draft) unsettled(by time.Time) ticks {
	schedule := d.m.job.Schedule
	if d.state.Plan != d.m.job.Plan {
		schedule = d.m.before
	}
	if schedule == nil || isPaused(&d.state) { // nil: the plan cannot be parsed
		return ticks{}
	}
	stored := Job{Schedule: schedule}
	first := schedule.Next(d.state.Mark)
	if first.IsZero() || first.After(by) {
		return ticks{}
	}
	return stored.between(first, by)
}
