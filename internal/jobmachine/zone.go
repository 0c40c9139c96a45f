package jobmachine

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Leaders may have different zone data: after a government has moved the clock, only new builds know it. One local time is then two
// instants, so two ticks. Each state says up to which local time the ticks are settled. For a leader whose clock of the zone shows
// another time at the mark, it is as if the clock were changed when it takes over: a local time that comes again does not run again.

// Shift returns how far the local time up to which a state's ticks are settled is ahead of the clock of this job's zone at the mark.
// It is 0 if the state's leaders had the zone data of this process.
func (j *Job) Shift(s *jobstore.State) time.Duration {
	shown := j.Schedule.Reading(s.Mark)
	if s.Plan != j.Plan || s.Reading.IsZero() || shown.IsZero() {
		return 0
	}
	return s.Reading.Sub(shown)
}

// zoneData settles ticks whose local time came before already, at another instant.
func (d *draft) zoneData(now time.Time) {
	stored := d.m.stored.State
	shift := d.m.job.Shift(stored)
	if shift <= 0 {
		return
	}
	settled := earlier(now, stored.Mark.Add(shift)) // then the clock shows the local time up to which all is settled
	d.dropTicks(d.unsettled(settled), jobstore.StateMissed, ReasonRepeated)
	d.skipTo(settled)
}

// read updates the local time up to which ticks are settled.
func (d *draft) read() {
	j, stored := d.m.job, d.m.stored.State
	d.state.Reading = time.Time{}
	if d.state.Plan == j.Plan {
		d.state.Reading = j.Schedule.Reading(d.state.Mark)
	}
	if j.Shift(stored) > 0 {
		d.state.Reading = later(d.state.Reading, stored.Reading)
	}
}
