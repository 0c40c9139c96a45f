package jobmachine_test

import (
	"reflect"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// activeRun is a run of the present leader.
type activeRun struct {
	open     jobstore.Open
	ends     time.Time
	canceled bool
}

// attempt is a run that was started.
type attempt struct {
	open        jobstore.Open
	atLeastOnce bool
	lost        bool // a majority has lost its state
}

// zombie is a run that is still under way although its leader is gone.
type zombie struct {
	id        string
	ends      time.Time
	lostState bool // the nodes have lost their state after its start
}

// period is the time in which a run was under way.
type period struct {
	id         string
	start, end time.Time // end is zero while the run is under way
	known      bool      // its end was stored, or is known to this process
}

func (p period) covers(t time.Time) bool {
	return !p.start.After(t) && (p.end.IsZero() || p.end.After(t))
}

// judgeStored judges the effects of a write that was stored.
func (w *walk) judgeStored(effects jobmachine.Effects, p *writeUnderWay) {
	l := &w.leader
	if effects.Write != nil || effects.Replace != nil {
		w.fail("Stored has effects of Due: %+v", effects)
	}
	for _, r := range l.returned {
		isLast := find(p.was.Open, r.ID) == nil && p.was.Last != nil && p.was.Last.ID == r.ID
		if isLast && !slices.Contains(effects.Report, *p.was.Last) {
			w.fail("the end of %s is stored, but not reported", r.ID)
		}
	}
	reported := slices.DeleteFunc(slices.Clone(effects.Report), func(r jobstore.Record) bool { // ends in writes that seemed to fail
		return p.was.Last != nil && r == *p.was.Last && w.hasReturned(r.ID) && !slices.Contains(p.write.Ended, r)
	})
	skips, _ := skipsOf(p.job, p.was, p.write)
	if was, is := countSkips(skips), countSkips(reported); was != is {
		w.fail("%d ticks are reported as skipped, and %d are", is, was)
	}
	reported = slices.DeleteFunc(reported, isSkips)
	if ended := slices.DeleteFunc(slices.Clone(p.write.Ended), isSkips); !slices.Equal(reported, ended) {
		w.fail("reported %+v, stored %+v", effects.Report, ended)
	}
	l.returned = slices.DeleteFunc(l.returned, func(r jobmachine.Returned) bool { return slices.Contains(p.settles, r) })
	for _, r := range l.returned {
		if !slices.ContainsFunc(w.m.Ended(), func(e jobmachine.Returned) bool { return e.ID == r.ID }) {
			w.fail("the end of %s is dropped", r.ID)
		}
	}
	for i, s := range l.spans {
		if s.id != "" && s.end.IsZero() && find(p.write.State.Open, s.id) == nil && !w.isUnderWay(s.id) && !w.hasReturned(s.id) {
			l.spans[i].end = w.now
		}
	}
	for _, o := range p.fresh {
		started := slices.ContainsFunc(effects.Start, func(s jobmachine.Start) bool { return reflect.DeepEqual(s.Open, o) })
		if !started {
			w.fail("%+v is opened and not started", o)
		}
	}
	for i, s := range effects.Start {
		if !slices.Contains(p.fresh, s.Open) {
			w.fail("%+v is started, which was not stored", s.Open)
		}
		w.start(p, s, i)
	}
}

func countSkips(rows []jobstore.Record) (n int) {
	for _, r := range rows {
		if isSkips(r) {
			n += max(r.Ticks, 1)
		}
	}
	return n
}

// start judges a start and starts the run.
func (w *walk) start(p *writeUnderWay, s jobmachine.Start, nth int) {
	w.note("started")
	l, o, job := &w.leader, s.Open, p.job
	w.logf("(starts %s for %s, attempt %d)", o.ID, at(o.Slot.At), o.Attempt)
	if o.Late {
		w.note("caught up")
	}
	due := o.Slot.At
	if !o.Slot.Manual {
		due = job.StartOf(due)
	}
	from := p.retries[o.ID]
	if from > 0 {
		w.note("retried")
	} else if !s.At.Equal(due) || o.Start.Before(due) {
		w.fail("the run of %s starts at %s, it is due at %s", at(o.Slot.At), at(s.At), at(due))
	}
	if job.Overlap != jobmachine.Allow && (len(l.runs) > 0 || nth > 0) {
		w.fail("%s is started while another run is under way", o.ID)
	}
	if w.unstarted[o.ID] != l.id {
		w.fail("%s was started before, or opened by another leader", o.ID)
	}
	delete(w.unstarted, o.ID)
	w.judgeAttempt(job, o, from)
	w.starts[o.Slot] = append(w.starts[o.Slot], attempt{o, job.AtLeastOnce, w.lost})
	r := &activeRun{open: o, ends: later(w.now, s.At).Add(w.duration())}
	l.runs = append(l.runs, r)
	if !slices.ContainsFunc(l.spans, func(p period) bool { return p.id == o.ID && p.end.IsZero() }) {
		l.spans = append(l.spans, period{id: o.ID, start: o.Start, known: true})
	}
	w.judgeAlone(job, o)
}

// judgeAttempt judges whether a slot may run, and under which number.
func (w *walk) judgeAttempt(job *jobmachine.Job, o jobstore.Open, retry int) {
	for _, before := range w.starts[o.Slot] {
		switch {
		case o.Slot.Manual && w.lostAll:
		case retry > 0 && (before.open.Attempt < o.Attempt || (job.AtLeastOnce || before.atLeastOnce) && w.lost): // the job may have changed since
		case !job.AtLeastOnce:
			w.fail("%s is run for the second time: %+v after %+v", at(o.Slot.At), o, before.open)
		case w.lost:
		case o.Attempt < before.open.Attempt+max(before.open.Tries, 1):
			w.fail("attempt %d may have been used: %+v", o.Attempt, before.open)
		}
	}
}

// judgeAlone judges that no run of an earlier leader is under way when a run begins.
func (w *walk) judgeAlone(job *jobmachine.Job, o jobstore.Open) {
	for _, z := range w.zombies {
		if job.Overlap != jobmachine.Allow && z.ends.After(w.now) {
			w.fail("%s starts beside %s, which an earlier leader has started", o.ID, z.id)
		}
	}
	if job.Overlap != jobmachine.Allow {
		w.zombies = nil
	}
}

// asked makes the leader find out whether runs of earlier leaders are under way.
func (w *walk) asked() {
	l := &w.leader
	if !l.asked.IsZero() {
		w.fail("it asks twice for runs of earlier leaders")
	}
	w.note("alone")
	l.asked = w.now
	l.spans = append(l.spans, period{start: l.prepared})
	w.holds()
}

// holds plans what the leader learns next: that a run was under way for the longest TTL, or that none is.
func (w *walk) holds() {
	l := &w.leader
	l.answers = l.asked.Add(w.upTo(20 * time.Millisecond))
	for _, z := range w.zombies {
		l.answers = later(l.answers, z.ends.Add(w.upTo(time.Second)))
	}
	if l.held = l.answers.After(l.asked.Add(11 * time.Second)); l.held {
		l.answers = l.asked.Add(11 * time.Second)
	}
}

// learnOfOthers makes the leader learn of the runs of earlier leaders.
func (w *walk) learnOfOthers() {
	l := &w.leader
	if !l.held {
		for i, p := range l.spans {
			if p.id == "" && p.end.IsZero() {
				l.spans[i].end = w.now
			}
		}
		l.answers, l.asked = time.Time{}, time.Time{}
		w.sendsOnly(jobmachine.Free{Now: w.now})
		return
	}
	if w.job.Overlap == jobmachine.Skip {
		w.note("held")
		l.spans = append(l.spans, period{end: l.asked, known: true})
	}
	w.sendsOnly(jobmachine.Held{At: l.asked})
	l.asked = w.now
	w.holds()
}

// duration returns how long a run takes.
func (w *walk) duration() time.Duration {
	switch w.rng.IntN(10) {
	case 0:
		return w.upTo(3 * time.Millisecond)
	case 1, 2, 3, 4, 5:
		return w.upTo(w.interval)
	case 6, 7, 8:
		return w.interval + w.upTo(4*w.interval)
	}
	return w.upTo(40 * w.interval)
}

// end makes a run return.
func (w *walk) end(r *activeRun, cutOff bool) {
	l := &w.leader
	l.runs = slices.DeleteFunc(l.runs, func(other *activeRun) bool { return other == r })
	e := jobmachine.Returned{ID: r.open.ID, State: jobstore.StateOK, End: w.now, Attempt: r.open.Attempt}
	switch {
	case cutOff && w.job.AtLeastOnce:
		e.State, e.Err, e.CutOff = jobstore.StateInterrupted, "the leader stops", true
	case cutOff:
		e.State, e.Err, e.CutOff = jobstore.StateFailed, "the leader stops", true
	case r.canceled, w.chance(30):
		e.State, e.Err = jobstore.StateFailed, "it failed"
		if r.open.Tries > 1 && !r.canceled {
			e.Pause = time.Millisecond + w.upTo(2*w.interval)
			starts := w.starts[r.open.Slot]
			starts[len(starts)-1].open.Tries = 1 // the other attempts were not made
		}
	}
	for i, p := range l.spans {
		if p.id == r.open.ID && p.end.IsZero() && e.Pause == 0 {
			l.spans[i].end = later(w.now, p.start)
		}
	}
	l.returned = append(l.returned, e)
	w.sendsOnly(e)
}

// judgeCancels judges which runs are canceled.
func (w *walk) judgeCancels(ids []string, is jobstore.State, d jobmachine.Due) {
	for _, id := range ids {
		at := slices.IndexFunc(w.leader.runs, func(r *activeRun) bool { return r.open.ID == id })
		switch {
		case w.job.Overlap != jobmachine.Replace:
			w.fail("%s is canceled without Replace", id)
		case at < 0:
			w.fail("%s is canceled and not under way", id)
		case w.leader.runs[at].canceled:
			w.fail("%s is canceled twice", id)
		case !w.isReplaced(w.leader.runs[at], is, d, d.Now):
			w.fail("%s is canceled, and nothing came since it began", id)
		}
		r := w.leader.runs[at]
		r.canceled = true
		w.note("canceled")
		if w.chance(80) {
			r.ends = earlier(r.ends, w.now.Add(w.upTo(100*time.Millisecond)))
		}
	}
	if w.job.Overlap != jobmachine.Replace || w.leader.removed || w.leader.draining {
		return
	}
	for _, r := range w.leader.runs {
		if !r.canceled && w.isReplaced(r, is, d, d.Now) {
			w.fail("%s is not canceled, although another tick has come", r.open.ID)
		}
	}
}

// isReplaced reports whether a tick or a trigger waits that came while a run was under way.
func (w *walk) isReplaced(r *activeRun, is jobstore.State, d jobmachine.Due, now time.Time) bool {
	if t := w.leader.trigger; t.Version != 0 && !is.Manual.Covers(t.Mark) && !t.At().Before(r.open.Start) {
		return true
	}
	if is.Pause.On {
		return false
	}
	for _, t := range is.Kept {
		if start := w.job.StartOf(t); !start.After(now) && !start.Before(r.open.Start) {
			return true
		}
	}
	for tick := w.job.Schedule.Next(is.Mark); !tick.IsZero(); tick = w.job.Schedule.Next(tick) {
		start := w.job.StartOf(tick)
		if start.After(now) {
			return false
		}
		if !start.Before(r.open.Start) {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
