package jobmachine

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Reasons why ticks do not run.
const (
	ReasonOverlap    = "a run was under way"
	ReasonSuperseded = "a newer tick took its place"
	ReasonChanged    = "the job's spec or zone has changed since"
	ReasonUnknown    = "nodes lost their state: whether it has run is unknown"
	ReasonSetBack    = "the nodes' clocks were set back: whether it has run is unknown"
	ReasonGone       = "its process was gone when another one led"
	ReasonDeadly     = "it is not run again, because processes were gone without its end " // and how often
	ReasonRemoved    = "the job was removed"
	ReasonReplaced   = "a newer tick took its place before its next attempt"
	ReasonExpired    = "nobody could run it within an hour"
	ReasonRan        = "it came before already: the nodes' clocks were set back since"
	ReasonRepeated   = "its local time came before already: an earlier leader had other zone data"
	reasonEarlier    = "a run of an earlier leader may have been under way"
	reasonLate       = "the leader came to it too late"
)

// draft is a write in preparation.
type draft struct {
	m   *Machine // read-only
	due Due

	state    *jobstore.State
	changed  bool
	opens    bool      // it opens a tick, so a pause refuses it
	opened   time.Time // the newest tick that it opens
	ids      int       // of runs that it opens
	starts   []Start
	replaced []string // runs to end
	cancels  []string // runs to end, because of the request canceled
	canceled jobstore.Request
	records  []jobstore.Record // for the history
	report   []jobstore.Record
	applied  []jobstore.Request // to report
	settled  []string           // returned runs whose ends it stores
	runs     []run

	wake   time.Time // when Due must be sent if no event comes before
	blocks bool      // something waits for a run to return
	asks   bool      // something waits for runs of earlier leaders
}

func newDraft(m *Machine, due Due) *draft {
	state := *m.stored.State
	state.Waits = ""
	state.Open = slices.Clone(state.Open)
	return &draft{m: m, due: due, state: &state, runs: m.runs}
}

// make puts everything that is due into the draft.
func (d *draft) make(in mode) {
	if in == serving {
		d.pauses()
	}
	d.cancelRuns()
	d.ends()
	switch in {
	case draining:
		if d.changed || d.m.behind { // otherwise there is no write
			d.missUnknown(in)
		}
	case removed:
		d.remove()
		d.missUnknown(in)
		d.lose()
	case serving:
		d.plan()
		d.missUnknown(in)
		d.manual()
		d.inherit()
		d.ticks()
	}
	if d.opened.After(d.state.NotRun.Tick) {
		d.state.NotRun = jobstore.NotRun{}
	}
	if !d.state.Ran.UpTo.After(d.state.Mark) {
		d.state.Ran = jobstore.Range{}
	}
	d.read()
}

// pauses takes over pauses and their ends.
func (d *draft) pauses() {
	d.endPauses()
	for _, r := range d.m.requests {
		switch r.Verb {
		case jobstore.ToPause:
			d.pause("the job was paused", &d.state.Pause, r)
			d.applied = append(d.applied, r)
		case jobstore.ToPauseAll:
			d.pause("all jobs were paused", &d.state.All, r)
		}
	}
	d.endPauses()
}

// pause takes over a pause, or its end. Ticks that came before a pause and have not begun are missed. Those that come during it are
// not caught up with, and have no record.
func (d *draft) pause(what string, present *jobstore.Setting, r jobstore.Request) {
	if d.state.Has(r) {
		return
	}
	began := r.At()
	if !r.On {
		began = r.Since // this leader may never have known of that pause
	}
	if !began.IsZero() && !d.state.Removed {
		reason := what + " at " + clock(began)
		d.dropKept(reason, nil)
		d.dropTicks(d.unsettled(began), jobstore.StateMissed, reason)
	}
	if !began.IsZero() || present.On {
		d.skipTo(r.At())
	}
	*present, d.changed = r.Setting, true
}

// endPauses ends the pauses whose time is over. Ticks since then have come; those before it are not caught up with.
func (d *draft) endPauses() {
	for _, p := range []*jobstore.Setting{&d.state.Pause, &d.state.All} {
		if p.On && !p.Holds(d.due.Now) {
			d.skipTo(p.Until.Add(-time.Millisecond))
			p.On, d.changed = false, true
			if p == &d.state.Pause {
				end := jobstore.Setting{Mark: p.Mark, Made: p.Until}
				d.applied = append(d.applied, jobstore.Request{Verb: jobstore.ToPause, Setting: end})
			}
		}
	}
}

// ends records the runs that have returned.
func (d *draft) ends() {
	for _, r := range d.m.ended {
		d.settled = append(d.settled, r.ID)
		d.changed = true
		at := slices.IndexFunc(d.state.Open, func(o jobstore.Open) bool { return o.ID == r.ID })
		if at < 0 {
			if last := d.m.stored.State.Last; last != nil && last.ID == r.ID { // a write that seemed to fail has stored it
				d.report = append(d.report, *last)
			}
			continue
		}
		o := d.state.Open[at]
		isCanceled := r.State == jobstore.StateCanceled ||
			!o.Canceled.IsZero() && r.State != jobstore.StateOK && (r.Pause > 0 || r.End.After(o.Canceled))
		if r.Pause > 0 && d.m.mode != removed && !isCanceled { // any leader goes on with it
			o.Tries -= r.Attempt + 1 - o.Attempt
			o.Attempt, o.NotBefore = r.Attempt+1, r.End.Add(r.Pause)
			d.state.Open[at] = o
			continue
		}
		record := o.Record(r.State, r.Err, later(r.End, o.Start)) // it may be cut off while it waits for its start
		record.Attempt = max(r.Attempt, o.Attempt)
		if r.CutOff && d.m.job.AtLeastOnce && !isCanceled { // the next leader runs it again
			d.state.Open[at].Returned = true
			record.State = jobstore.StateInterrupted
			d.row(record)
			continue
		}
		if record.State == jobstore.StateInterrupted { // nobody runs it again
			record.State = jobstore.StateFailed
		}
		if isCanceled {
			record.State = jobstore.StateCanceled
		}
		d.state.Open = slices.Delete(d.state.Open, at, at+1)
		d.end(record)
	}
}

// end adds the end of a run to the state.
func (d *draft) end(r jobstore.Record) {
	d.row(r)
	switch r.State {
	case jobstore.StateOK:
		d.state.Last, d.state.LastOK, d.state.Failures = newer(d.state.Last, &r), newer(d.state.LastOK, &r), 0
	case jobstore.StateFailed, jobstore.StateLost:
		d.state.Last = newer(d.state.Last, &r)
		d.state.Failures++
	case jobstore.StateCanceled:
		d.state.Last = newer(d.state.Last, &r)
	case jobstore.StateMissed:
		if !r.Slot.Manual {
			d.state.Missed++
		}
		d.notRun(r)
	default:
		d.notRun(r)
	}
	d.changed = true
}

// row adds a record to the history and to the reports.
func (d *draft) row(r jobstore.Record) {
	d.keepSkipped()
	d.records = append(d.records, r)
	d.report = append(d.report, r)
	switch {
	case r.State == jobstore.StateInterrupted: // its run goes on
	case r.Slot.Manual && !r.Slot.Again:
		byHand := r // a copy, so that the other rows take no space
		d.state.ByHand = newer(d.state.ByHand, &byHand)
	default:
		d.endRerun(r)
	}
}

// skip reports skipped ticks, and adds them to those in the state. All ticks that come during a run become one row, so a run that
// hangs does not push what came before it out of the history.
func (d *draft) skip(r jobstore.Record, first time.Time) {
	d.report = append(d.report, r)
	before := d.state.Skipped
	if before != nil && before.Err == r.Err && d.m.job.Schedule.Next(before.Slot.At).Equal(first) {
		r.Ticks, r.From = max(before.Ticks, 1)+max(r.Ticks, 1), before.From
		if before.Ticks == 0 {
			r.From = before.Slot.At
		}
	} else {
		d.keepSkipped()
	}
	d.state.Skipped = &r
}

// keepSkipped adds a row of the skipped ticks in the state to the history, because another row or run follows.
func (d *draft) keepSkipped() {
	if d.state.Skipped != nil {
		d.records = append(d.records, *d.state.Skipped)
		d.state.Skipped = nil
	}
}

// newer returns the record of the run that began later. The first may be nil.
func newer(a, b *jobstore.Record) *jobstore.Record {
	if a != nil && a.Start.After(b.Start) {
		return a
	}
	return b
}

func (d *draft) notRun(r jobstore.Record) {
	if !r.Slot.At.Before(d.state.NotRun.Tick) && r.Slot.At.After(d.opened) {
		d.state.NotRun = jobstore.NotRun{Tick: r.Slot.At, Reason: r.Err}
	}
}

// dropTicks records that ticks do not run.
func (d *draft) dropTicks(t ticks, state, reason string) {
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
	if state == jobstore.StateSkipped {
		d.skip(r, t.first)
	} else {
		d.row(r)
	}
	d.changed = true
	switch reason {
	case ReasonUnknown, ReasonSetBack, ReasonRan:
		d.state.Mark = later(d.state.Mark, t.last)
	default:
		d.skipTo(t.last)
	}
}

// open opens the run of a tick.
func (d *draft) open(tick time.Time) {
	slot := jobstore.Slot{At: tick}
	d.start(jobstore.Open{Slot: slot, Attempt: 1, Late: d.isLate(slot)})
	d.opens = true
	d.opened = tick
	d.state.Mark = later(d.state.Mark, tick)
}

// start adds an open run of this leader to the state, and to the runs to start.
func (d *draft) start(o jobstore.Open) {
	d.keepSkipped()
	at := o.Slot.At
	if !o.Slot.Manual {
		at = d.m.job.StartOf(at)
	}
	if o.Slot.At.Sub(d.due.Now) > jobstore.Ahead { // the nodes' clocks were set back since the tick came
		at = d.due.Now
	}
	if o.Tries == 0 {
		o.Tries = max(d.m.job.Tries, 1)
	}
	o.ID, o.Token, o.Replica = d.newID(), d.due.Token, d.due.Replica
	o.Start, o.Timeout = later(d.due.Now, at), d.m.job.Timeout
	if o.Began.IsZero() {
		o.Began = o.Start
	}
	d.starts = append(d.starts, Start{Open: o, At: at})
	d.state.Open = append(d.state.Open, o)
	d.changed = true
}

func (d *draft) newID() string {
	d.ids++
	if d.ids == 1 {
		return d.due.ID
	}
	return d.due.ID + "." + strconv.Itoa(d.ids-1)
}

// mayOpen reports whether another run may be opened.
func (d *draft) mayOpen() bool { return d.isFree() && d.hasRoom() }

// isFree reports whether a new run need not wait for a run under way.
func (d *draft) isFree() bool {
	return d.m.job.Overlap == Allow || d.isAlone() && !slices.ContainsFunc(d.state.Open, jobstore.Open.Waits)
}

// isAlone reports whether no run is under way.
func (d *draft) isAlone() bool { return len(d.m.runs) == 0 && len(d.starts) == 0 && !d.m.mayGoOn() }

// hasRoom reports whether the state can have one more open run.
func (d *draft) hasRoom() bool { return len(d.state.Open) < jobstore.MaxOpen }

// block makes something wait until the runs under way have returned. The state says why, for people.
func (d *draft) block() {
	d.blocks = true
	d.asks = d.m.mayGoOn()
	switch {
	case d.asks:
		d.state.Waits = "it waits until no run of an earlier leader is under way"
	case !d.hasRoom():
		d.state.Waits = "it waits for room: " + strconv.Itoa(len(d.state.Open)) + " runs are open"
	default:
		d.state.Waits = "it waits for a run before it"
	}
	d.changed = d.changed || d.state.Waits != d.m.stored.State.Waits
}

// wait makes something that is due since an instant wait until the runs under way have returned. With Replace it also cancels the
// runs that began by that instant, and takes the place of those that came before it and wait for an attempt.
func (d *draft) wait(since time.Time) {
	d.block()
	if d.m.job.Overlap != Replace {
		return
	}
	for _, o := range slices.Clone(d.state.Open) {
		if o.Waits() && o.Slot.At.Before(since) {
			d.giveUp(o, ReasonReplaced)
		}
	}
	d.runs = slices.Clone(d.runs)
	for i := range d.runs {
		if !d.runs[i].canceled && !d.runs[i].start.After(since) {
			d.runs[i].canceled = true
			d.replaced = append(d.replaced, d.runs[i].id)
		}
	}
}

// wakeAt makes Due necessary at an instant, unless it is necessary earlier.
func (d *draft) wakeAt(t time.Time) {
	if !t.IsZero() && (d.wake.IsZero() || t.Before(d.wake)) {
		d.wake = t
	}
}

// clock returns an instant for people, in UTC.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }
