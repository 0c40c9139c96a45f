package jobmachine

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

func (e Prepared) apply(m Machine) (Machine, Effects) {
	isFirst := m.prepared.IsZero()
	m.isNew = isFirst && !e.Basis.Known
	state := *m.stored.State
	switch {
	case m.isNew: // its ticks begin now
		state = jobstore.State{Since: e.Now, Plan: m.job.Plan, Mark: later(e.Now, e.Basis.Floor),
			Gaps: []jobstore.Range{{After: later(e.Basis.Deleted, earlier(e.Basis.Floor, e.Wall)), UpTo: e.Now}}}
	case isFirst || e.Basis.Known && e.Basis.At.IsAfter(m.stored.At): // otherwise nobody has written after this leader
		m.stored.At, state = e.Basis.At, e.Basis.State
	}
	if e.Basis.Lost {
		state.Lost = e.Now
	}
	state.Open = slices.Clone(state.Open)
	m.stored.State = &state // no other machine has it yet, so it may be changed below
	m.phase, m.draft = idle, nil
	m.floor = e.Basis.Floor
	if isFirst { // when prepared again, this leader has led meanwhile
		m.absence, m.prepared = e.Absence, e.Now
	}
	if state.Plan == e.Basis.State.Plan { // otherwise the leader goes on from its own state
		m.before = e.Before
	}
	m.requests = slices.DeleteFunc(slices.Clone(m.requests), state.Has)
	// A mark may be ahead as far as a floor is, and the clock of this leader may be behind that of the leader before.
	if e.Basis.SetBack > 0 || state.Mark.Sub(e.Now) > 2*jobstore.Ahead {
		m = m.setBack(e.Now, e.Unnoticed)
	}
	for i, r := range m.requests {
		m.requests[i].Setting = r.Present(e.Now)
	}
	for _, r := range e.Ended {
		if slices.ContainsFunc(m.stored.State.Open, func(o jobstore.Open) bool { return o.ID == r.ID }) {
			m.ended = append(slices.Clip(m.ended), r)
		}
	}
	m.wasSetBack = e.Basis.SetBack > 0
	m.behind, m.failures, m.notBefore = true, 0, time.Time{}

	m = m.withEarlierRuns(isFirst, e.Now)
	return m.wakeAt(e.Now), Effects{}
}

// withEarlierRuns remembers when runs of earlier leaders were under way, or may have been. A run may still be under way if it is lost,
// if it was canceled when its process was gone, or if the nodes have lost it, unless this leader has started it.
func (m Machine) withEarlierRuns(isFirst bool, now time.Time) Machine {
	last := m.stored.State.Last
	isLost := last != nil && (last.State == jobstore.StateLost || last.State == jobstore.StateCanceled)
	mayGoOn := isFirst && (isLost || !m.floor.IsZero() && !m.isNew)
	waits := m.job.Overlap == Queue || m.job.Overlap == Replace
	m.spans = slices.Clone(m.spans)
	for i, o := range m.stored.State.Open {
		if m.isOurs(o.ID) || m.isUnstarted(o) {
			continue
		}
		if isFirst && !o.NotBefore.After(m.floor) { // the nodes may have lost that it went on
			o.NotBefore = time.Time{}
			m.stored.State.Open[i] = o
		}
		mayGoOn = mayGoOn || !o.Returned && !o.Waits()
		if o.Waits() {
			start := o.Start
			if start.IsZero() {
				start = o.NotBefore
			}
			m.spans = append(m.spans, span{id: o.ID, start: start})
		} else if waits { // ticks that came during that run waited for it, however it ended
			m.spans = append(m.spans, span{id: o.ID, start: o.Start, end: now})
		}
	}
	if last != nil && last.End.After(m.stored.State.Mark) && (waits || !isLost) {
		m.spans = append(m.spans, span{id: last.ID, start: last.Start, end: last.End})
	}
	if mayGoOn && !m.mayGoOn() {
		m.spans = append(m.spans, span{start: now, unsure: true})
	}
	return m
}

func (Unprepared) apply(m Machine) (Machine, Effects) {
	m.phase = unprepared
	return m, Effects{}
}

func (e Due) apply(m Machine) (Machine, Effects) {
	if m.phase != idle || e.Now.Before(m.notBefore) {
		return m, Effects{}
	}
	m.notBefore = time.Time{}
	d := newDraft(&m, e)
	d.make(m.mode)
	m.wake, m.blocks = d.wake, d.blocks
	m.runs = d.runs // with the canceled ones marked
	effects := Effects{Replace: d.replaced, Cancel: d.cancels, Canceled: d.canceled, Ask: d.asks && !m.asked}
	m.asked = m.asked || d.asks
	if !d.changed && (!m.behind || e.Urgent) {
		m.lazy = false
		return m, effects
	}
	m.phase, m.draft = writing, d
	effects.Write = &jobstore.Write{Job: m.job.Name, Follows: m.stored.At, State: d.state, Opens: d.opens, Ended: d.records}
	return m, effects
}

func (e Stored) apply(m Machine) (Machine, Effects) {
	d := m.draft
	if m.phase != writing || d == nil {
		return m, Effects{}
	}
	m.phase, m.draft = idle, nil
	m.stored = stored{e.At, d.state}
	m.behind, m.failures = false, 0
	m.failedSince, m.notBefore = time.Time{}, time.Time{}
	m.floor = time.Time{}
	switch d.state.Plan {
	case m.job.Plan:
		m.before = nil
	case d.m.job.Plan: // the job changed while the write was under way
		m.before = d.m.job.Schedule
	}
	m.requests = slices.DeleteFunc(slices.Clone(m.requests), m.stored.State.Has)
	m.ended = slices.DeleteFunc(slices.Clone(m.ended), func(r Returned) bool { return slices.Contains(d.settled, r.ID) })
	m.lazy = len(m.ended) > 0
	m.runs = slices.Clone(m.runs)
	m.spans = slices.Clone(m.spans)
	for i, s := range m.spans { // runs that have ended while they waited for an attempt, or that go on under another ID
		if s.end.IsZero() && !s.unsure && !m.isOurs(s.id) && !slices.ContainsFunc(d.state.Open, func(o jobstore.Open) bool { return o.ID == s.id }) {
			m.spans[i].end = e.Now
		}
	}
	m.spans = m.undecided(e.Now)
	for _, s := range d.starts {
		m.runs = append(m.runs, run{id: s.Open.ID, start: s.Open.Start, began: s.Open.Began})
		if !slices.ContainsFunc(m.spans, func(other span) bool { return other.id == s.Open.ID }) {
			m.spans = append(m.spans, span{id: s.Open.ID, start: s.Open.Start})
		}
	}
	return m.wakeAt(e.Now), Effects{Start: d.starts, Report: d.report, Applied: d.applied}
}

func (e Failed) apply(m Machine) (Machine, Effects) {
	if m.phase != writing || m.draft == nil {
		return m, Effects{}
	}
	m.phase, m.draft = idle, nil
	m.failures++
	if m.failedSince.IsZero() {
		m.failedSince = e.Now
	}
	m.notBefore, m.behind = e.Retry, true
	return m.wakeAt(e.Retry), Effects{}
}

func (e Asked) apply(m Machine) (Machine, Effects) {
	r := e.Request
	r.Setting = r.Present(e.Now)
	if m.phase != unprepared && m.stored.State.Has(r) { // otherwise Prepared finds out
		return m, Effects{}
	}
	for i, other := range m.requests {
		switch {
		case other.Verb != r.Verb || !other.Tick.Equal(r.Tick):
		case other.Covers(r.Mark):
			return m, Effects{}
		default:
			m.requests = slices.Clone(m.requests)
			m.requests[i] = r
			return m.wakeAt(atOnce), Effects{}
		}
	}
	m.requests = append(slices.Clip(m.requests), r)
	return m.wakeAt(atOnce), Effects{}
}

func (e Returned) apply(m Machine) (Machine, Effects) {
	at := slices.IndexFunc(m.runs, func(r run) bool { return r.id == e.ID })
	if at < 0 {
		return m, Effects{}
	}
	m.runs = slices.Delete(slices.Clone(m.runs), at, at+1)
	m.ended = append(slices.Clone(m.ended), e)
	m.spans = slices.Clone(m.spans)
	for i, s := range m.spans {
		if s.id == e.ID && s.end.IsZero() && e.Pause == 0 {
			m.spans[i].end = later(e.End, s.start)
		}
	}
	m.lazy = true
	if m.blocks || m.mode != serving {
		m = m.wakeAt(e.End)
	}
	return m, Effects{}
}

func (e Held) apply(m Machine) (Machine, Effects) {
	if m.job.Overlap != Skip { // ticks wait all the same
		return m, Effects{}
	}
	m.spans = append(slices.Clone(m.spans), span{end: e.At}) // no other run began since, so all ticks that are not decided came in it
	return m.wakeAt(atOnce), Effects{}
}

func (e Free) apply(m Machine) (Machine, Effects) {
	m.asked = false
	m.spans = slices.Clone(m.spans)
	for i := range m.spans {
		if s := &m.spans[i]; s.unsure && s.end.IsZero() {
			s.end = e.Now
		}
	}
	return m.wakeAt(atOnce), Effects{}
}

func (Behind) apply(m Machine) (Machine, Effects) {
	m.behind = true
	return m, Effects{}
}

func (e Added) apply(m Machine) (Machine, Effects) {
	m.job = e.Job
	if m.before == nil {
		m.before = e.Before
	}
	if m.mode == removed {
		m.mode = serving
	}
	return m.wakeAt(atOnce), Effects{}
}

func (Removed) apply(m Machine) (Machine, Effects) {
	if m.mode == serving {
		m.mode = removed
	}
	return m.wakeAt(atOnce), Effects{}
}

func (Drain) apply(m Machine) (Machine, Effects) {
	m.mode = draining
	m.behind = false
	if len(m.ended) > 0 {
		m = m.wakeAt(atOnce)
	}
	return m, Effects{}
}
