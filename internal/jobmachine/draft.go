package jobmachine

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Reasons for which ticks do not run.
const (
	ReasonOverlap    = "a run was under way"
	ReasonSuperseded = "a newer tick took its place"
	ReasonChanged    = "the job's spec or zone has changed since"
	ReasonForgotten  = "nodes lost their state: whether it has run is unknown"
	ReasonGone       = "its process was gone when another one led"
	ReasonExpired    = "nobody could run it within an hour"
	reasonLate       = "the leader came to it too late"
)

// draft is a write that is being made.
type draft struct {
	m   *Machine // only read
	due Due

	state   jobstore.State
	changed bool
	opens   bool // it opens a tick, so that a pause refuses it
	starts  []Start
	cancels []string
	records []jobstore.Record // for the history
	tell    []jobstore.Record
	settled []string // runs that have returned, whose ends the write stores
	kept    []string // unstarted runs that stay open
	runs    []run

	wake   time.Time // when the next Due is needed, if no event comes before
	blocks bool      // something waits for a run to return
}

func newDraft(m *Machine, due Due) *draft {
	d := &draft{m: m, due: due, state: m.stored, runs: m.runs}
	d.state.Open = slices.Clone(m.stored.Open)
	return d
}

// make puts everything that is due into the draft.
func (d *draft) make(in mode) {
	if in == serving {
		d.settings()
	}
	d.ends()
	switch in {
	case draining:
	case removed:
		d.lose()
		if !d.state.Removed && len(d.m.runs) == 0 {
			d.state.Removed, d.changed = true, true
		}
	case serving:
		d.plan()
		d.trigger()
		d.inherit()
		d.ticks()
	}
}

// settings applies what people have set. Ticks that came during a pause are not caught up with.
func (d *draft) settings() {
	set, was := d.m.pause, d.state.Pause
	if !set.IsNewer(was) {
		return
	}
	d.state.Pause, d.changed = set, true
	if set.On {
		return
	}
	until := set.At() // ticks that came before the pause, and had not run when it began
	if was.On {
		until = was.At()
	}
	d.leaveOut(d.m.job.due(d.state.Mark, until), jobstore.StateMissed, "the job was paused until "+clock(set.At()))
	d.state.Mark = later(d.state.Mark, set.At())
}

// ends closes runs that have returned.
func (d *draft) ends() {
	for _, r := range d.m.ended {
		d.settled = append(d.settled, r.ID)
		at := slices.IndexFunc(d.state.Open, func(o jobstore.Open) bool { return o.ID == r.ID })
		if at < 0 {
			continue
		}
		d.changed = true
		o := d.state.Open[at]
		record := recordOf(o, r.State, r.Err, r.End)
		record.Attempt = max(r.Attempt, o.Attempt)
		if !r.Start.IsZero() {
			record.Start = r.Start
		}
		if r.CutOff && d.m.job.AtLeastOnce { // the next leader runs it again
			d.state.Open[at].Returned = true
			d.row(record)
			continue
		}
		d.state.Open = slices.Delete(d.state.Open, at, at+1)
		d.end(record)
	}
}

// end applies how a run has ended.
func (d *draft) end(r jobstore.Record) {
	d.row(r)
	switch r.State {
	case jobstore.StateOK:
		d.state.Last, d.state.LastOK, d.state.Failures = newer(d.state.Last, r), newer(d.state.LastOK, r), 0
	case jobstore.StateFailed, jobstore.StateLost:
		d.state.Last = newer(d.state.Last, r)
		d.state.Failures++
	case jobstore.StateMissed:
		d.state.Missed++
		d.notRun(r)
	default:
		d.notRun(r)
	}
	d.changed = true
}

// row adds a record to the history, and to what is reported.
func (d *draft) row(r jobstore.Record) {
	d.records = append(d.records, r)
	d.tell = append(d.tell, r)
}

// newer returns the record of the run that started later.
func newer(a, b jobstore.Record) jobstore.Record {
	if a.State != "" && a.Start.After(b.Start) {
		return a
	}
	return b
}

func (d *draft) notRun(r jobstore.Record) {
	if !r.Slot.At.Before(d.state.NotRun.Tick) {
		d.state.NotRun = jobstore.NotRun{Tick: r.Slot.At, Reason: r.Err}
	}
}

// plan applies a changed timetable, and the return of a removed job. Ticks of the old timetable that have not run are missed.
func (d *draft) plan() {
	j := d.m.job
	switch {
	case d.state.Removed:
		d.state.Removed, d.changed = false, true
		d.state.Mark = later(d.state.Mark, d.due.Now)
	case d.state.Plan != j.Plan:
		if d.m.before != nil {
			old := *j
			old.Schedule, old.Jitter = d.m.before, 0
			d.leaveOut(old.due(d.state.Mark, d.due.Now), jobstore.StateMissed, ReasonChanged)
		}
		d.state.Mark = later(d.state.Mark, d.due.Now)
	}
	if d.state.Plan != j.Plan {
		d.state.Plan, d.changed = j.Plan, true
	}
}

// leaveOut records ticks as not run, and moves the high-water mark past them.
func (d *draft) leaveOut(t ticks, state, reason string) {
	if t.n == 0 {
		return
	}
	r := jobstore.Record{
		Slot: jobstore.Slot{At: t.last}, State: state, Err: reason, Token: d.due.Token, Replica: d.due.Replica,
		Start: d.due.Now, End: d.due.Now,
	}
	if t.n > 1 {
		r.Ticks, r.From = t.n, t.first
	}
	if state == jobstore.StateMissed {
		d.state.Missed += t.n
	}
	d.notRun(r)
	d.row(r)
	d.state.Mark, d.changed = later(d.state.Mark, t.last), true
}

// open opens a run. If an earlier write for the slot has failed, the run keeps the ID from there: nodes may have it.
func (d *draft) open(slot jobstore.Slot, attempt int, late bool) {
	d.start(jobstore.Open{Slot: slot, Attempt: attempt, Late: late})
	if slot.Manual {
		d.state.Manual = later(d.state.Manual, slot.At)
		return
	}
	d.opens = true
	d.state.Mark = later(d.state.Mark, slot.At)
}

// start opens a run of this process.
func (d *draft) start(o jobstore.Open) {
	at := o.Slot.At
	if !o.Slot.Manual {
		at = d.m.job.StartOf(at)
	}
	o.ID, o.Tries, o.Token, o.Replica = d.newID(o.Slot), max(d.m.job.Tries, 1), d.due.Token, d.due.Replica
	o.Start = later(d.due.Now, at)
	alone := d.m.foreign && d.m.job.Overlap != Allow && len(d.starts) == 0
	d.starts = append(d.starts, Start{Open: o, At: at, Alone: alone})
	d.state.Open = append(d.state.Open, o)
	d.changed = true
}

func (d *draft) newID(slot jobstore.Slot) string {
	for _, o := range d.m.proposed {
		if o.Slot == slot {
			return o.ID
		}
	}
	if n := len(d.starts); n > 0 {
		return d.due.ID + "." + strconv.Itoa(n)
	}
	return d.due.ID
}

// mayOpen reports whether a new run needs to wait for no other one.
func (d *draft) mayOpen() bool {
	return d.m.job.Overlap == Allow || len(d.m.runs) == 0 && len(d.starts) == 0
}

// wait notes that a slot waits for the runs under way to return. With Replace it cancels them.
func (d *draft) wait() {
	d.blocks = true
	if d.m.job.Overlap != Replace {
		return
	}
	d.runs = slices.Clone(d.runs)
	for i := range d.runs {
		if !d.runs[i].cancelled {
			d.runs[i].cancelled = true
			d.cancels = append(d.cancels, d.runs[i].id)
		}
	}
}

// wakeAt schedules the job's next Due for t, if that is earlier than what is scheduled.
func (d *draft) wakeAt(t time.Time) {
	if !t.IsZero() && (d.wake.IsZero() || t.Before(d.wake)) {
		d.wake = t
	}
}

func recordOf(o jobstore.Open, state, reason string, end time.Time) jobstore.Record {
	return jobstore.Record{
		Slot: o.Slot, ID: o.ID, Attempt: o.Attempt, Token: o.Token, State: state, Replica: o.Replica,
		Start: o.Start, End: end, Late: o.Late, Err: reason,
	}
}

// clock is an instant for people, in UTC.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }
