package jobmachine

import "github.com/redlockfx/redlockfx/internal/jobstore"

// trigger opens the run of a trigger. It obeys the overlap policy, but ignores a pause.
func (d *draft) trigger() {
	t := d.m.trigger
	if !d.triggerWaits() {
		return
	}
	slot := jobstore.Slot{At: t.At(), Manual: true}
	_, under := d.m.spanAt(slot.At)
	switch {
	case d.isTooOld(slot):
		d.refuse(slot, jobstore.StateMissed, ReasonExpired)
	case d.mayOpen():
		d.open(slot)
	case under && d.m.job.Overlap == Skip:
		d.refuse(slot, jobstore.StateSkipped, ReasonOverlap)
	default:
		if d.wait(slot.At); !d.mayOpen() {
			return
		}
		d.open(slot)
	}
	d.applied = append(d.applied, Setting{Setting: t, IsTrigger: true})
}

// triggerWaits reports whether the trigger is not decided yet.
func (d *draft) triggerWaits() bool {
	return d.m.trigger.On && d.m.trigger.At().After(d.state.Manual)
}

// keepTrigger copies a trigger whose run waits into the state, because the nodes that stored it may lose it.
func (d *draft) keepTrigger() {
	var t jobstore.Setting
	if d.triggerWaits() {
		t = d.m.trigger
	}
	d.changed = d.changed || t.IsNewer(d.state.Trigger)
	d.state.Trigger = t
}

// refuse records that a triggered run does not take place.
func (d *draft) refuse(slot jobstore.Slot, state, reason string) {
	if !slot.Again {
		d.state.Manual = later(d.state.Manual, slot.At)
	}
	r := jobstore.Record{
		Slot: slot, State: state, Err: reason, Token: d.due.Token, Replica: d.due.Replica, Start: d.due.Now, End: d.due.Now,
	}
	if !slot.Again { // a tick that does not run again has had its own outcome
		d.notRun(r)
	}
	d.row(r)
	d.changed = true
}
