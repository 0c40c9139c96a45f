package jobmachine

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// maxProposed is how many runs of failed writes are remembered: as many as one state may have open. The nodes may have any of those
// runs, but most likely the newest.
const maxProposed = jobstore.MaxOpen

func (e Prepared) apply(m Machine) (Machine, Effects) {
	m.isNew = m.prepared.IsZero() && !e.Basis.Known
	m.stored = e.basis(&m)
	if e.Basis.Lost {
		m.stored.Lost = e.Now
	}
	m.unstarted = m.Unstarted()
	for _, id := range e.Unstarted {
		if !slices.Contains(m.unstarted, id) {
			m.unstarted = append(m.unstarted, id)
		}
	}
	m.phase, m.draft = idle, nil
	m.floor = e.Basis.Floor
	if m.prepared.IsZero() { // when prepared again, this leader has led meanwhile
		m.absence, m.prepared = e.Absence, e.Now
	}
	if m.stored.Plan == e.Basis.State.Plan { // otherwise the leader goes on from its own state
		m.before = e.Before
	}
	m.pause, m.trigger = newest(m.pause, e.Basis.Pause), newest(m.trigger, e.Basis.Trigger)
	if e.Basis.SetBack > 0 {
		m = m.setBack(e.Now, e.Unnoticed)
	}
	m.wasSetBack = e.Basis.SetBack > 0
	m.behind, m.failures, m.notBefore, m.proposed = true, 0, time.Time{}, nil

	// A lost run may still be under way, and so may one that the nodes have lost.
	isLost := m.stored.Last.State == jobstore.StateLost
	m.earlier = m.earlier || isLost || !m.floor.IsZero() && !m.isNew
	waits := m.job.Overlap == Queue || m.job.Overlap == Replace
	m.spans = slices.Clone(m.spans)
	for _, o := range m.stored.Open {
		if m.isOurs(o.ID) {
			continue
		}
		if slices.Contains(m.unstarted, o.ID) {
			m.earlier = m.earlier || o.Attempt > 1 // an earlier attempt may be under way
			continue
		}
		m.earlier = m.earlier || !o.Returned
		if waits { // ticks that came during that run waited for it, however it ended
			m.spans = append(m.spans, span{o.ID, o.Start, e.Now})
		}
	}
	if last := m.stored.Last; last.State != "" && last.End.After(m.stored.Mark) && (waits || !isLost) {
		m.spans = append(m.spans, span{last.ID, last.Start, last.End})
	}
	return m.wakeAt(e.Now), Effects{}
}

// basis returns the state from which the leader goes on. If nodes have lost state, it combines theirs with the state that this leader
// has stored itself, so that ticks which this leader has settled or started stay so.
func (e Prepared) basis(m *Machine) jobstore.State {
	found, own := e.Basis.State, m.stored
	switch {
	case m.isNew: // its ticks begin now
		return jobstore.State{Since: e.Now, Plan: m.job.Plan, Mark: later(e.Now, e.Basis.Floor)}
	case m.prepared.IsZero() || e.Basis.Known && e.Basis.Floor.IsZero():
		return found
	}
	s := own
	if found.Mark.After(own.Mark) {
		s = found
	}
	s.Mark, s.Manual = later(found.Mark, own.Mark), later(found.Manual, own.Manual)
	s.Open = slices.Clone(own.Open)
	for _, o := range found.Open {
		mark := own.Mark
		if o.Slot.Manual {
			mark = own.Manual
		}
		if o.Slot.At.After(mark) && !isOpen(own, o.ID) {
			s.Open = append(s.Open, o)
		}
	}
	return s
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
	effects := Effects{Cancel: d.cancels}
	if !d.changed && (!m.behind || e.Urgent) {
		m.lazy = false
		return m, effects
	}
	m.phase, m.draft = writing, d
	effects.Write = &jobstore.Write{Job: m.job.Name, State: d.state, Opens: d.opens, Ended: d.records}
	return m, effects
}

func (e Stored) apply(m Machine) (Machine, Effects) {
	d := m.draft
	if m.phase != writing || d == nil {
		return m, Effects{}
	}
	m.phase, m.draft = idle, nil
	m.stored = d.state
	m.behind, m.lazy, m.failures, m.proposed = false, false, 0, nil
	m.failedSince, m.notBefore = time.Time{}, time.Time{}
	m.floor = time.Time{}
	m.unstarted = slices.DeleteFunc(slices.Clone(m.unstarted), func(id string) bool { return !isOpen(m.stored, id) })
	switch m.stored.Plan {
	case m.job.Plan:
		m.before = nil
	case d.m.job.Plan: // the job changed while the write was under way
		m.before = d.m.job.Schedule
	}
	m.ended = slices.DeleteFunc(slices.Clone(m.ended), func(r Returned) bool { return slices.Contains(d.settled, r.ID) })
	m.lazy = len(m.ended) > 0
	m.runs = slices.Clone(m.runs)
	m.spans = m.undecided(e.Now)
	for _, s := range d.starts {
		m.earlier = m.earlier && !s.Alone
		m.runs = append(m.runs, run{id: s.Open.ID, start: s.Open.Start})
		m.spans = append(m.spans, span{id: s.Open.ID, start: s.Open.Start})
	}
	return m.wakeAt(e.Now), Effects{Start: d.starts, Report: d.report, Applied: d.applied}
}

func (e Failed) apply(m Machine) (Machine, Effects) {
	if m.phase != writing || m.draft == nil {
		return m, Effects{}
	}
	m.proposed = slices.Clone(m.proposed)
	for _, s := range m.draft.starts {
		if !slices.ContainsFunc(m.proposed, func(o jobstore.Open) bool { return o.ID == s.Open.ID }) {
			m.proposed = append(m.proposed, s.Open)
		}
	}
	m.proposed = m.proposed[max(0, len(m.proposed)-maxProposed):]
	m.phase, m.draft = idle, nil
	m.failures++
	if m.failedSince.IsZero() {
		m.failedSince = e.Now
	}
	m.notBefore, m.behind = e.Retry, true
	return m.wakeAt(e.Retry), Effects{}
}

func (e Set) apply(m Machine) (Machine, Effects) {
	pause, trigger := newest(m.pause, e.Pause), newest(m.trigger, e.Trigger)
	if pause == m.pause && trigger == m.trigger {
		return m, Effects{}
	}
	m.pause, m.trigger = pause, trigger
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
		if s.id == e.ID && s.end.IsZero() {
			m.spans[i].end = later(e.End, s.start)
		}
	}
	m.earlier = m.earlier || e.Waits
	m.lazy = true
	if m.blocks || m.mode != serving {
		m = m.wakeAt(e.End)
	}
	return m, Effects{}
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

func isOpen(s jobstore.State, id string) bool {
	return slices.ContainsFunc(s.Open, func(o jobstore.Open) bool { return o.ID == id })
}

func newest(a, b jobstore.Setting) jobstore.Setting {
	if b.IsNewer(a) {
		return b
	}
	return a
}
