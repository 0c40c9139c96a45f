package jobmachine_test

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// judgeKept judges the ticks that a changed plan has kept: each goes on to wait, or has one fate.
func (j *judgment) judgeKept() {
	for _, t := range j.was.Kept {
		var opened []jobstore.Open
		for _, o := range j.fresh {
			if !o.Slot.Manual && o.Slot.At.Equal(t) {
				opened = append(opened, o)
			}
		}
		isRow := func(r jobstore.Record) bool { return r.Ticks == 0 && r.Slot.At.Equal(t) }
		fates := len(opened)
		if slices.ContainsFunc(j.is.Kept, t.Equal) {
			fates++
		}
		if i := slices.IndexFunc(j.ticks, isRow); i >= 0 {
			if fates++; j.ticks[i].State != jobstore.StateMissed {
				j.fail("the kept tick %s is %+v", at(t), j.ticks[i])
			}
		}
		switch {
		case fates != 1:
			j.fail("the kept tick %s has %d fates", at(t), fates)
		case len(opened) == 0 && !slices.ContainsFunc(j.is.Kept, t.Equal):
			j.note("kept in vain")
		case len(opened) == 0 && (j.is.Pause.On || j.leader.removed && !j.leader.draining):
			j.fail("the kept tick %s waits, and the job is paused or was removed", at(t))
		case len(opened) == 0:
		case j.is.Pause.On || opened[0].Attempt != 1 || j.lateness(t) >= j.job.CatchUp.Window:
			j.fail("the kept tick %s runs as %+v", at(t), opened[0])
		case opened[0].Late != (j.lateness(t) > jobmachine.LateTolerance):
			j.fail("late is %v for the kept tick %s", opened[0].Late, at(t))
		default:
			j.note("kept, and runs")
		}
	}
}

// judgeShared judges the ticks that are in both plans: those that may run are kept, without CatchUp.All only the newest.
func (j *judgment) judgeShared(fates map[int64]*fate, old jobmachine.Schedule, after time.Time) {
	var shared []time.Time
	for t := old.Next(after); !t.IsZero() && !t.After(j.due.Now); t = old.Next(t) {
		start, f := j.job.StartOf(t), fates[t.Unix()]
		switch {
		case !j.job.Schedule.Next(t.Add(-1)).Equal(t), j.lateness(t) >= j.job.CatchUp.Window, !t.After(j.leader.floor):
		case j.isMixed(start) && f != nil:
			f.shared = f.opened != nil || f.kept
		case j.job.Overlap != jobmachine.Skip || !j.isInRun(start):
			shared = append(shared, t)
		}
	}
	most := jobstore.MaxOpen
	if !j.job.CatchUp.All {
		most = 1
	}
	for _, t := range shared[max(0, len(shared)-most):] {
		f := fates[t.Unix()]
		isNot := func(reason string) bool { return f.records[0].Err != reason }
		if f == nil || f.opened == nil && !f.kept && isNot(jobmachine.ReasonSuperseded) && isNot("the leader came to it too late") {
			j.fail("the tick %s of both plans is not kept: %+v", at(t), f)
		}
		j.note("kept")
		f.shared = true
	}
}
