package jobmachine_test

import (
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// fate is the outcome of a tick in a write.
type fate struct {
	opened  *jobstore.Open
	records []jobstore.Record
	kept    bool // it waits, because a changed plan has it as well
	shared  bool // it is in both plans, and may still run
}

func (j *judgment) judgeTrigger() {
	t := j.leader.trigger
	pending := t.Version != 0 && !j.was.Manual.Covers(t.Mark)
	unknown := !t.At().After(j.leader.floor) && !j.leader.isNew
	settled := 0
	for _, o := range slices.Concat(j.fresh, j.supposed) {
		switch {
		case !o.Slot.Manual, slices.ContainsFunc(j.gone, func(g jobstore.Open) bool { return g.Slot == o.Slot }):
			continue
		case !pending || !o.Slot.At.Equal(t.At()):
			j.fail("nobody has triggered %+v", o)
		case j.due.Now.Sub(t.At()) > time.Hour:
			j.fail("the trigger of %s has expired, but runs", at(t.At()))
		}
		settled++
		j.note("triggered")
	}
	for _, r := range j.manual {
		age := j.due.Now.Sub(r.Slot.At)
		switch {
		case !pending || !r.Slot.At.Equal(t.At()):
			j.fail("nobody has triggered %+v", r)
		case r.State == jobstore.StateMissed && age > time.Hour:
			j.note("expired")
		case r.State == jobstore.StateMissed && (unknown || j.leader.removed):
		case r.State == jobstore.StateSkipped && j.job.Overlap == jobmachine.Skip &&
			(j.isInRun(t.At()) || j.isMixed(t.At())):
		default:
			j.fail("the trigger of %s is refused: %+v", at(t.At()), r)
		}
		settled++
	}
	switch {
	case settled > 1:
		j.fail("a trigger has two fates")
	case settled == 1 && !j.is.Manual.Covers(t.Mark):
		j.fail("the manual mark is %+v after the trigger of %s", j.is.Manual, at(t.At()))
	case settled == 1 || !pending || !j.serves():
	case j.due.Now.Sub(t.At()) > time.Hour:
		j.fail("the trigger of %s has expired, but that is not reported", at(t.At()))
	case j.job.Overlap == jobmachine.Skip && !j.isMixed(t.At()) && slices.ContainsFunc(j.leader.runs, func(r *activeRun) bool {
		return !r.open.Start.After(t.At())
	}):
		j.fail("the trigger of %s came during a run, but is not skipped", at(t.At()))
	case !j.blocked && !unknown:
		j.fail("the trigger of %s could run", at(t.At()))
	}
}

// isInRun reports whether a run was under way whose end, or whose lack of an end, the leader knows.
func (j *judgment) isInRun(t time.Time) bool {
	return slices.ContainsFunc(j.leader.spans, func(p period) bool { return p.known && p.covers(t) })
}

// hasWaited reports whether a tick came while a run was, or may have been, under way.
func (j *judgment) hasWaited(t time.Time) bool {
	return (j.job.Overlap == jobmachine.Queue || j.job.Overlap == jobmachine.Replace) &&
		slices.ContainsFunc(j.leader.spans, func(p period) bool { return p.covers(t) })
}

// isMixed reports whether it is unknown which overlap policy applied at an instant.
func (j *judgment) isMixed(t time.Time) bool { return !t.After(j.leader.mixed) }

// judgeTicks judges the outcome of each tick that has come.
func (j *judgment) judgeTicks() {
	j.judgeKept()
	fates := j.fates()
	settled := j.judgeSettledTicks(fates)
	list := j.comeAfter(settled)
	if !j.serves() || j.is.Pause.On {
		if j.is.Mark.After(settled) {
			j.fail("the mark is %s, want at most %s", at(j.is.Mark), at(settled))
		}
		list = nil
	}
	last := settled
	for i, t := range list {
		if t.tick.After(j.is.Mark) {
			if !t.start.After(j.due.Now) && !j.blocked {
				j.fail("the tick %s could be settled", at(t.tick))
			}
			continue
		}
		last = t.tick
		f := fates[t.tick.Unix()]
		delete(fates, t.tick.Unix())
		switch {
		case f == nil:
			j.fail("the tick %s has vanished: the mark was %s and is %s", at(t.tick), at(j.was.Mark), at(j.is.Mark))
		case f.opened != nil:
			j.judgeOpened(list, i, f.opened)
		case f.records[0].State == jobstore.StateSkipped:
			j.note("skipped")
			if j.job.Overlap != jobmachine.Skip || !j.isInRun(t.start) && !j.isMixed(t.start) {
				j.fail("the tick %s is skipped", at(t.tick))
			}
		default:
			j.judgeMissed(list, i)
		}
	}
	for _, f := range fates {
		j.fail("a fate belongs to no tick: %+v %+v", f.opened, f.records)
	}
	if j.is.Mark.After(later(settled, last)) {
		j.fail("the mark is %s, and the last tick before it %s", at(j.is.Mark), at(last))
	}
}

// come is a tick that has come.
type come struct{ tick, start time.Time }

// comeAfter returns the ticks after an instant whose runs could have begun.
func (j *judgment) comeAfter(t time.Time) (list []come) {
	for tick := j.job.Schedule.Next(t); !tick.IsZero(); tick = j.job.Schedule.Next(tick) {
		start := j.job.StartOf(tick)
		if start.After(j.due.Now.Add(time.Millisecond)) {
			break
		}
		list = append(list, come{tick, start})
	}
	return list
}

// fates returns the outcomes of ticks in the write. No tick has two.
func (j *judgment) fates() map[int64]*fate {
	fates := map[int64]*fate{}
	for _, t := range j.is.Kept {
		if t.After(j.was.Mark) {
			fates[t.Unix()] = &fate{kept: true}
		} else if !slices.ContainsFunc(j.was.Kept, t.Equal) {
			j.fail("the tick %s is kept, and the mark was %s", at(t), at(j.was.Mark))
		}
	}
	for _, o := range slices.Concat(j.fresh, j.kept, j.supposed) {
		if slices.ContainsFunc(j.was.Kept, o.Slot.At.Equal) && !o.Slot.Manual {
			continue
		}
		if !o.Slot.Manual && o.Slot.At.After(j.was.Mark) {
			fates[o.Slot.At.Unix()] = &fate{opened: &o}
		} else if !o.Slot.Manual && !slices.ContainsFunc(j.gone, func(g jobstore.Open) bool { return g.Slot == o.Slot }) {
			j.fail("%+v is opened, and the mark was %s", o, at(j.was.Mark))
		}
	}
	for _, r := range j.ticks {
		if r.Ticks == 0 && slices.ContainsFunc(j.was.Kept, r.Slot.At.Equal) {
			continue
		}
		first, n := r.Slot.At, 0
		if r.Ticks != 0 {
			first = r.From
		}
		schedule := j.scheduleOf(r)
		for tick := schedule.Next(first.Add(-1)); !tick.IsZero() && !tick.After(r.Slot.At); tick = schedule.Next(tick) {
			n++
			f := fates[tick.Unix()]
			if f == nil {
				f = &fate{}
				fates[tick.Unix()] = f
			}
			f.records = append(f.records, r)
			if f.opened != nil || f.kept || len(f.records) > 1 {
				j.fail("the tick %s has two fates: %+v %+v", at(tick), f.opened, f.records)
			}
		}
		if max(r.Ticks, 1) != n || !first.After(j.was.Mark) || r.Ticks == 1 {
			j.fail("a record of %d ticks covers %d, the mark was %s: %+v", r.Ticks, n, at(j.was.Mark), r)
		}
		if r.State == jobstore.StateMissed {
			j.note("missed")
		}
	}
	return fates
}

// scheduleOf returns the schedule of the ticks of a record.
func (j *judgment) scheduleOf(r jobstore.Record) jobmachine.Schedule {
	if !j.serves() || r.Err == jobmachine.ReasonChanged || r.Err == jobmachine.ReasonRemoved ||
		strings.HasPrefix(r.Err, "the job was paused") {
		return j.plans[j.was.Plan]
	}
	return j.job.Schedule
}

// judgeSettledTicks judges the ticks that are settled whatever the job's policies are: by the end of a pause, a change of the
// plan, a removal, or a loss of the nodes' state. It returns the last instant of these ticks.
func (j *judgment) judgeSettledTicks(fates map[int64]*fate) time.Time {
	now, mark, writes := j.due.Now, j.was.Mark, j.write.Job != ""
	var least time.Time // what the mark must reach; zero: the old mark
	old := j.plans[j.was.Plan]
	pausedAt := func(t time.Time) time.Time { // the instant up to which ticks count
		if j.is.Pause.On {
			return mark
		}
		return t
	}
	pause := j.was.Pause
	end := func() {
		if ended := j.ended(pause); ended != pause {
			j.note("pause over")
			pause, mark = ended, j.drop(fates, old, mark, pause.Until.Add(-time.Millisecond))
		}
	}
	if j.is.Pause != j.was.Pause {
		end()
	}
	if j.is.Pause.Version != j.was.Pause.Version {
		j.note("paused")
		began := j.leader.pause.At()
		if !j.leader.pause.On {
			began = j.leader.pause.Since
		}
		if !j.was.Removed && !pause.On {
			j.wantRecords(fates, old, mark, began)
		}
		if pause.On || !began.IsZero() {
			mark = j.drop(fates, old, mark, j.is.Pause.At())
		}
		pause = j.leader.pause
		end()
	}
	switch {
	case j.was.Removed && j.serves():
		mark = later(mark, now)
	case j.was.Plan != j.is.Plan:
		j.note("changed")
		if !j.is.Pause.On {
			j.judgeShared(fates, old, mark)
		}
		j.wantRecords(fates, old, mark, pausedAt(now))
		mark = j.drop(fates, old, mark, now)
	case j.is.Removed && !j.was.Removed:
		j.wantRecords(fates, old, mark, pausedAt(now))
		least, mark = mark, j.drop(fates, old, mark, now)
	}
	if floor := j.leader.floor; floor.After(mark) && (writes || j.serves()) {
		schedule := old
		if j.serves() {
			schedule = j.job.Schedule
		}
		j.judgeForgotten(fates, schedule, mark, pausedAt(floor))
		least, mark = floor, floor
	}
	if least.IsZero() {
		least = mark
	}
	if (writes || j.serves()) && j.is.Mark.Before(least) {
		j.fail("the mark is %s, want at least %s", at(j.is.Mark), at(least))
	}
	return mark
}

// wantRecords removes the ticks that must be recorded, and fails for those that are not.
func (j *judgment) wantRecords(fates map[int64]*fate, s jobmachine.Schedule, after, by time.Time) {
	for tick := s.Next(after); !tick.IsZero() && !tick.After(by); tick = s.Next(tick) {
		f := fates[tick.Unix()]
		if f != nil && f.shared {
			delete(fates, tick.Unix())
			continue
		}
		if f == nil || f.opened != nil || f.records[0].State != jobstore.StateMissed {
			j.fail("the tick %s is not recorded as missed: %+v", at(tick), f)
		}
		delete(fates, tick.Unix())
	}
}

// drop removes the ticks that may be recorded and must not be opened. It returns the last instant of these ticks.
func (j *judgment) drop(fates map[int64]*fate, s jobmachine.Schedule, after, by time.Time) time.Time {
	for tick := s.Next(after); !tick.IsZero() && !tick.After(by); tick = s.Next(tick) {
		if f := fates[tick.Unix()]; f != nil && f.opened != nil && !j.job.Schedule.Next(tick.Add(-1)).Equal(tick) {
			j.fail("the tick %s is opened", at(tick))
		} else if f != nil && f.opened == nil {
			delete(fates, tick.Unix())
		}
	}
	return later(after, by)
}

// judgeForgotten judges the ticks whose outcome the nodes have lost.
func (j *judgment) judgeForgotten(fates map[int64]*fate, s jobmachine.Schedule, after, by time.Time) {
	for tick := s.Next(after); !tick.IsZero() && !tick.After(by); tick = s.Next(tick) {
		f := fates[tick.Unix()]
		delete(fates, tick.Unix())
		newest := s.Next(tick).IsZero() || s.Next(tick).After(by)
		again := j.job.AtLeastOnce && newest && (!j.leader.removed || j.leader.draining)
		late := j.lateness(tick)
		switch {
		case f == nil:
			j.fail("the tick %s, whose outcome the nodes have lost, has vanished", at(tick))
		case f.opened != nil && !again:
			j.fail("the tick %s, whose outcome the nodes have lost, is opened", at(tick))
		case f.opened != nil && find(j.fresh, f.opened.ID) != nil && f.opened.Attempt < 1+max(j.job.Tries, 1):
			j.fail("the tick %s runs again as attempt %d", at(tick), f.opened.Attempt)
		case f.opened != nil && late >= j.job.CatchUp.Window:
			j.fail("the tick %s runs again, too late", at(tick))
		case f.opened == nil && again && late < j.job.CatchUp.Window-2*time.Millisecond && len(j.was.Open) < jobstore.MaxOpen:
			j.fail("the tick %s, whose outcome the nodes have lost, does not run again", at(tick))
		case f.opened == nil && f.records[0].State != jobstore.StateMissed:
			j.fail("the tick %s, whose outcome the nodes have lost, is recorded as %+v", at(tick), f.records)
		}
	}
}

// judgeOpened judges that the i-th of the ticks that have come runs.
func (j *judgment) judgeOpened(list []come, i int, o *jobstore.Open) {
	t := list[i]
	late := j.lateness(t.tick)
	if o.Attempt != 1 || o.Tries != max(j.job.Tries, 1) || o.Token != j.leader.token || o.Replica != j.leader.process {
		j.fail("a run is opened as %+v", *o)
	}
	if o.Late != (late > jobmachine.LateTolerance) {
		j.fail("late is %v for a tick of %v ago", o.Late, late)
	}
	if j.isMixed(t.start) {
		return
	}
	waited := j.hasWaited(t.start)
	if waited {
		j.note("waited")
	}
	switch {
	case j.job.Overlap == jobmachine.Skip && j.isInRun(t.start):
		j.fail("the tick %s came during a run, but runs", at(t.tick))
	case !waited && late >= j.job.CatchUp.Window:
		j.fail("the tick %s runs, although it is outside the window", at(t.tick))
	}
	newer := j.newer(list, i, 0)
	if !j.job.CatchUp.All && newer > 0 || newer > 1001 {
		j.fail("the tick %s runs, although %d newer ones have come", at(t.tick), newer)
	}
}

// newer returns how many ticks after the i-th have come that could run in its place. ahead is how early they may be.
func (j *judgment) newer(list []come, i int, ahead time.Duration) (n int) {
	for _, t := range list[i+1:] {
		skipped := j.job.Overlap == jobmachine.Skip && (j.isInRun(t.start) || j.isMixed(t.start) && ahead == 0)
		if skipped || t.start.After(j.due.Now.Add(ahead)) {
			continue
		}
		n++
	}
	return n
}

// judgeMissed judges that the i-th of the ticks that have come does not run.
func (j *judgment) judgeMissed(list []come, i int) {
	t := list[i]
	if j.isMixed(t.start) {
		return
	}
	late := !j.hasWaited(t.start) && j.lateness(t.tick) > j.job.CatchUp.Window-2*time.Millisecond
	newer := j.newer(list, i, time.Millisecond)
	switch {
	case j.job.Overlap == jobmachine.Skip && j.isInRun(t.start):
		j.fail("the tick %s came during a run, but is missed, not skipped", at(t.tick))
	case late, !j.job.CatchUp.All && newer > 0, len(list)-i-1 >= 999:
	default:
		j.fail("the tick %s is missed: %v ago, %d newer ones", at(t.tick), j.lateness(t.tick), newer)
	}
}
