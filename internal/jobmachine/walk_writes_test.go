package jobmachine_test

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// judgment has a write and what it does. A Due that writes nothing is judged as a write of the old state.
type judgment struct {
	*walk
	due      jobmachine.Due
	was, is  jobstore.State
	write    jobstore.Write
	fresh    []jobstore.Open // runs that the write opens
	kept     []jobstore.Open // ticks of both plans that wait for their first attempt
	retried  []jobstore.Open // runs that it makes go on
	supposed []jobstore.Open // runs that it opens for an earlier leader, because the nodes have lost the outcome of their slots
	gone     []jobstore.Open // runs that are no longer open
	blocked  bool            // other due work has to wait for a run to return
	runs     []jobstore.Record
	ticks    []jobstore.Record // records of ticks that do not run
	manual   []jobstore.Record // records of triggers that do not run
	given    []jobstore.Record // records of repeats that a newer tick has replaced in the same write
}

// judge judges a write and returns the runs that it opens.
func (w *walk) judge(d jobmachine.Due, was jobstore.State, write jobstore.Write) []jobstore.Open {
	j := &judgment{walk: w, due: d, was: was, is: *write.State, write: write}
	if n := len(j.is.Open); n > jobstore.MaxOpen {
		w.fail("%d runs are open: no node can read that", n)
	}
	for _, o := range j.is.Open {
		switch {
		case !o.Waits() && waiting(was.Open, o.Slot) != nil, !o.Waits() && w.paused(o.ID):
			j.retried = append(j.retried, o)
		case find(was.Open, o.ID) != nil:
		case w.isSupposed(was, o):
			j.supposed = append(j.supposed, o)
		case o.Waits():
			j.kept = append(j.kept, o)
		default:
			j.fresh = append(j.fresh, o)
		}
		for _, other := range j.is.Open {
			if o.Slot == other.Slot && o.ID != other.ID {
				w.fail("two runs are open for %s: %+v", at(o.Slot.At), j.is.Open)
			}
		}
	}
	for _, o := range was.Open {
		if find(j.is.Open, o.ID) == nil {
			j.gone = append(j.gone, o)
		}
	}
	for _, r := range write.Ended {
		switch {
		case r.ID != "" && r.State == jobstore.StateMissed && find(was.Open, r.ID) == nil: // kept, and replaced at once
			j.ticks = append(j.ticks, r)
		case r.ID != "" && r.Err == jobmachine.ReasonReplaced && find(was.Open, r.ID) == nil: // about to be repeated, and replaced at once
			j.given = append(j.given, r)
		case r.ID != "":
			j.runs = append(j.runs, r)
		case r.Slot.Manual:
			j.manual = append(j.manual, r)
		case !isSkips(r):
			j.ticks = append(j.ticks, r)
		}
	}
	skips, kept := skipsOf(w.job, was, &write)
	if !kept {
		j.fail("the skipped ticks %+v are gone: now there are %+v, and the rows %+v", was.Skipped, j.is.Skipped, write.Ended)
	}
	j.ticks = append(j.ticks, skips...)
	j.blocked = w.job.Overlap != jobmachine.Allow && (len(w.leader.runs) > 0 || len(j.fresh) > 0 || len(j.retried) > 0 ||
		!w.leader.asked.IsZero() || slices.ContainsFunc(j.is.Open, jobstore.Open.Waits)) || len(j.is.Kept) > 0 ||
		len(j.fresh)+len(j.retried) >= 100 || len(j.is.Open) >= 1000
	j.judgeModes()
	j.judgeCanceled()
	j.judgeEnds()
	j.judgeInherited()
	j.judgeLast()
	j.judgeTrigger()
	j.judgeTicks()
	isTick := func(o jobstore.Open) bool {
		return !o.Slot.Manual && (o.Attempt == 1 || !slices.Contains(j.retried, o))
	}
	if opens := slices.ContainsFunc(slices.Concat(j.fresh, j.retried), isTick); write.Opens != opens {
		w.fail("Opens is %v", write.Opens)
	}
	return slices.Concat(j.fresh, j.retried)
}

// isSkips reports whether a record is of skipped ticks.
func isSkips(r jobstore.Record) bool {
	return r.State == jobstore.StateSkipped && r.ID == "" && !r.Slot.Manual
}

// skipsOf returns the ticks that a write skips. They are in the state until another row or run follows. It returns false if those of
// the last state are gone.
func skipsOf(j *jobmachine.Job, was jobstore.State, w *jobstore.Write) (rows []jobstore.Record, kept bool) {
	first := func(r jobstore.Record) time.Time {
		if r.Ticks == 0 {
			return r.Slot.At
		}
		return r.From
	}
	kept = was.Skipped == nil
	rest := slices.Clone(w.Ended)
	if w.State.Skipped != nil {
		rest = append(rest, *w.State.Skipped)
	}
	for _, r := range rest {
		if !isSkips(r) {
			continue
		}
		if !kept && first(r).Equal(first(*was.Skipped)) {
			kept = true
			if r.Ticks = max(r.Ticks, 1) - max(was.Skipped.Ticks, 1); r.Ticks == 0 {
				continue
			}
			r.From = j.Schedule.Next(was.Skipped.Slot.At)
			if r.Ticks == 1 {
				r.Ticks, r.From = 0, time.Time{}
			}
		}
		rows = append(rows, r)
	}
	return rows, kept
}

// isSupposed reports whether a run stands for a slot whose outcome the nodes have lost, and that will run.
func (w *walk) isSupposed(was jobstore.State, o jobstore.Open) bool {
	known := slices.ContainsFunc(was.Open, func(other jobstore.Open) bool { return other.Slot == o.Slot })
	return !known && w.job.AtLeastOnce && !w.leader.isNew && !o.Slot.At.After(w.leader.floor) && o.Attempt == 1
}

func find(open []jobstore.Open, id string) *jobstore.Open {
	for i := range open {
		if open[i].ID == id {
			return &open[i]
		}
	}
	return nil
}

func (w *walk) serves() bool { return !w.leader.removed && !w.leader.draining }

// judgeModes judges how a write reflects the leader's mode and the job's plan.
func (j *judgment) judgeModes() {
	l := &j.leader
	switch {
	case l.draining:
		if len(j.fresh)+len(j.retried) > 0 {
			j.fail("a leader that drains opens %+v %+v", j.fresh, j.retried)
		}
		if j.is.Plan != j.was.Plan {
			j.fail("a leader that drains takes over another plan")
		}
		if j.is.Pause != j.was.Pause {
			j.fail("a leader that drains takes over a pause, which is for the next one")
		}
		return
	case l.removed:
		if len(j.fresh)+len(j.retried) > 0 {
			j.fail("a job that was removed opens %+v %+v", j.fresh, j.retried)
		}
		if !j.is.Removed {
			j.fail("the nodes do not learn that the job was removed")
		}
		return
	}
	if j.is.Removed || j.is.Plan != j.job.Plan {
		j.fail("the plan is %q, removed=%v", j.is.Plan, j.is.Removed)
	}
	if j.was.Removed {
		j.note("back")
	}
	j.judgeSettings()
	if j.is.Since != j.was.Since || j.is.Mark.Before(j.was.Mark) || j.was.Manual.IsNewer(j.is.Manual) || j.was.Canceled.IsNewer(j.is.Canceled) {
		j.fail("a mark went back")
	}
}

// judgeSettings judges that the state has the pause.
func (j *judgment) judgeSettings() {
	if j.is.Pause != j.ended(newer(j.was.Pause, j.leader.pause)) {
		j.fail("the pause is %+v, known is %+v", j.is.Pause, j.leader.pause)
	}
}

// ended returns a pause, or its end if its time is over.
func (j *judgment) ended(p jobstore.Setting) jobstore.Setting {
	p.On = p.On && (p.Until.IsZero() || p.Until.After(j.due.Now))
	return p
}

func (j *judgment) recordsOf(id string) (found []jobstore.Record) {
	for _, r := range j.runs {
		if r.ID == id {
			found = append(found, r)
		}
	}
	return found
}

// judgeEnds judges the runs that have returned: the next write has all of their ends.
func (j *judgment) judgeEnds() {
	for _, r := range j.leader.returned {
		o, records := find(j.was.Open, r.ID), j.recordsOf(r.ID)
		if o == nil {
			if len(records) > 0 {
				j.fail("the end of %s is stored again", r.ID)
			}
			continue
		}
		asked := o.Canceled
		if j.isHit(*o) {
			asked = j.leader.cancel.At()
		}
		canceled := !asked.IsZero() && r.State != jobstore.StateOK && (r.Pause > 0 || r.End.After(asked))
		if r.Pause > 0 && !canceled && (!j.leader.removed || j.leader.draining) {
			j.judgePaused(r, *o, records)
			continue
		}
		state := r.State
		again := r.CutOff && j.job.AtLeastOnce && !canceled
		switch {
		case canceled:
			state = jobstore.StateCanceled
		case again:
			state = jobstore.StateInterrupted
		case state == jobstore.StateInterrupted:
			state = jobstore.StateFailed
		}
		attempt := max(r.Attempt, o.Attempt)
		if len(records) != 1 || records[0].State != state || records[0].Attempt != attempt ||
			!records[0].Start.Equal(o.Start) || !records[0].End.Equal(later(r.End, o.Start)) || records[0].Slot != o.Slot || records[0].Err != r.Err {
			j.fail("%s has returned: %+v; the records are %+v", r.ID, r, records)
		}
		open := find(j.is.Open, r.ID)
		switch {
		case again:
			if open == nil || !open.Returned {
				j.fail("%s was cut off and is not left to the next leader: %+v", r.ID, open)
			}
		case open != nil:
			j.fail("%s has returned and is open", r.ID)
		}
	}
	for _, o := range j.is.Open {
		before := find(j.was.Open, o.ID)
		if before == nil || *before == o || j.paused(o.ID) || before.Waits() && slices.Contains(j.retried, o) {
			continue
		}
		copied := *before
		copied.Canceled = o.Canceled // judged before
		if o == copied {
			continue
		}
		copied.Returned = true
		if o != copied || !j.hasReturned(o.ID) {
			j.fail("an open run changes: %+v", o)
		}
	}
}

// judgeInherited judges the runs that this leader has not started.
func (j *judgment) judgeInherited() {
	for _, o := range j.gone {
		switch {
		case j.hasReturned(o.ID):
		case j.isUnderWay(o.ID):
			j.fail("%s is under way and not open any more", o.ID)
		default:
			j.judgeSettled(o)
		}
	}
	for _, r := range j.runs {
		if !j.hasReturned(r.ID) && find(j.gone, r.ID) == nil {
			j.fail("there is a record of %s, which has not ended", r.ID)
		}
	}
	for _, o := range slices.Concat(j.was.Open, j.supposed) {
		if find(j.is.Open, o.ID) == nil || j.isUnderWay(o.ID) || j.hasReturned(o.ID) || j.leader.draining {
			continue
		}
		if slices.ContainsFunc(j.retried, func(r jobstore.Open) bool { return r.ID == o.ID }) {
			continue
		}
		if o.Waits() && !j.leader.removed {
			holds := j.is.Pause.On && !o.Slot.Manual && o.Deaths > 0 // the repeat of a run whose process is gone
			if !o.NotBefore.After(j.due.Now) && j.job.Overlap == jobmachine.Allow && !holds {
				j.fail("%s could go on", o.ID)
			}
			continue
		}
		mine := j.isMine(o)
		paused := j.is.Pause.On && !o.Slot.Manual
		switch {
		case j.leader.removed:
			j.fail("the job was removed, and %s is open", o.ID)
		case !mine && !j.job.AtLeastOnce:
			j.fail("%s of an earlier leader is not settled", o.ID)
		case !paused && !j.blocked:
			j.fail("%s could be started", o.ID)
		}
	}
}

// isMine reports whether this leader opened a run, has not started it, and may start it.
func (j *judgment) isMine(o jobstore.Open) bool {
	return j.unstarted[o.ID] == j.leader.id
}

// judgeSettled judges an open run of an earlier leader, or one that this leader has not started.
func (j *judgment) judgeSettled(o jobstore.Open) {
	mine := j.isMine(o)
	records := j.recordsOf(o.ID)
	if !o.Canceled.IsZero() || j.isHit(o) {
		if len(records) != 1 || records[0].State != jobstore.StateCanceled {
			j.fail("%s was canceled, and is settled as %+v", o.ID, records)
		}
		return
	}
	if o.Waits() {
		j.judgeGivenUp(o, records)
		return
	}
	repeats := slices.Concat(j.fresh, j.kept) // some after a pause
	again := slices.IndexFunc(repeats, func(f jobstore.Open) bool { return f.Slot == o.Slot })
	deaths := 0 // of processes, in this write
	if !mine && !o.Returned {
		deaths = 1
	}
	if again >= 0 {
		f := repeats[again]
		switch {
		case len(records) != deaths, deaths > 0 && (records[0].State != jobstore.StateInterrupted || records[0].Err != jobmachine.ReasonGone):
			j.fail("%s runs again, and is recorded as %+v", o.ID, records)
		case !mine && !j.job.AtLeastOnce:
			j.fail("%s runs again", o.ID)
		case f.Attempt < o.Attempt, !mine && f.Attempt < o.Attempt+max(o.Tries, 1):
			j.fail("the attempt of %+v is not above those of %+v", f, o)
		case j.is.Pause.On && !o.Slot.Manual:
			j.fail("%s runs again during a pause", o.ID)
		}
		if mine {
			j.note("unstarted")
		} else {
			j.note("taken over")
		}
		return
	}
	if len(records) != 1 || records[0].Slot != o.Slot {
		j.fail("%+v is gone, and the records are %+v", o, j.runs)
	}
	switch r := records[0]; {
	case r.State == jobstore.StateLost && j.leader.removed:
	case r.State == jobstore.StateLost && !mine && !j.job.AtLeastOnce:
		j.note("lost")
	case r.State == jobstore.StateLost && j.job.MaxDeaths > 0 && o.Deaths+deaths >= j.job.MaxDeaths:
		j.note("deadly")
	case r.State == jobstore.StateInterrupted && slices.ContainsFunc(j.given, func(g jobstore.Record) bool { return g.Slot == o.Slot }):
	case r.State == jobstore.StateMissed && mine && !j.job.AtLeastOnce && j.isTooOld(o.Slot):
		j.note("unstarted, too old")
	default:
		j.fail("%+v is settled as %+v", o, r)
	}
}

// isTooOld reports whether a slot is outside the time in which it may run.
func (j *judgment) isTooOld(s jobstore.Slot) bool {
	if s.Manual {
		return j.due.Now.Sub(s.At) > time.Hour
	}
	return j.lateness(s.At) > j.job.CatchUp.Window-2*time.Millisecond
}

func (j *judgment) lateness(tick time.Time) time.Duration { return j.due.Now.Sub(j.job.StartOf(tick)) }
