package jobmachine

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// When the nodes' clocks are set back, instants come a second time. A tick is its instant, so a tick that was opened before must
// not be opened again. It may be any tick up to the mark that is not in State.Gaps. The mark goes back, and these ticks become
// State.Ran.

// setBack moves what lies in the future to now. The clocks may have been set back for the time unnoticed already.
func (m Machine) setBack(now time.Time, unnoticed time.Duration) Machine {
	if m.floor.Sub(now) > jobstore.Ahead {
		m.stored.State.Mark, m.floor = later(m.stored.State.Mark, m.floor), now
	}
	moveBack(m.stored.State, now, unnoticed)
	m.prepared, m.failedSince = earlier(m.prepared, now), earlier(m.failedSince, now)
	m.runs, m.ended, m.spans = slices.Clone(m.runs), slices.Clone(m.ended), slices.Clone(m.spans)
	for i := range m.runs {
		m.runs[i].start, m.runs[i].began = earlier(m.runs[i].start, now), earlier(m.runs[i].began, now)
	}
	for i := range m.ended {
		m.ended[i].End = earlier(m.ended[i].End, now)
	}
	for i, s := range m.spans {
		m.spans[i].start, m.spans[i].end = earlier(s.start, now), earlier(s.end, now)
	}
	return m
}

// moveBack moves the times of a state that are in the future. Opened ticks keep their names.
func moveBack(s *jobstore.State, now time.Time, unnoticed time.Duration) {
	if s.Mark.After(now) {
		ran, mark := jobstore.Range{After: now, UpTo: s.Mark}, now
		gaps := s.Gaps
		if i := slices.IndexFunc(gaps, func(g jobstore.Range) bool { return g.Has(now) }); i >= 0 {
			ran.After, mark = gaps[i].UpTo, later(gaps[i].After, now.Add(-unnoticed))
		}
		if s.Ran.UpTo.After(now) { // the clocks were set back before, too
			ran.After, ran.UpTo = earlier(ran.After, s.Ran.After), later(ran.UpTo, s.Ran.UpTo)
		}
		s.Mark, s.Reading, s.Ran = mark, time.Time{}, ran
	}
	s.Gaps = nil
	s.Since, s.Lost = earlier(s.Since, now), earlier(s.Lost, now)
	s.Kept = slices.DeleteFunc(slices.Clone(s.Kept), func(t time.Time) bool { return t.After(now) }) // they are in Ran
	s.Pause, s.All = s.Pause.Present(now), s.All.Present(now)
	if s.NotRun.Tick.After(now) {
		s.NotRun = jobstore.NotRun{}
	}
	for _, r := range []**jobstore.Record{&s.Skipped, &s.Last, &s.LastOK, &s.ByHand} {
		if *r == nil || !(*r).End.After(now) {
			continue
		}
		moved := **r
		moved.Start, moved.End = moved.Start.Add(now.Sub(moved.End)), now
		*r = &moved
	}
	for i := range s.Open {
		o := &s.Open[i]
		o.Start, o.Began, o.NotBefore = earlier(o.Start, now), earlier(o.Began, now), earlier(o.NotBefore, now)
	}
}

// ranBefore settles ticks of State.Ran that have come again, and those before them that are not settled yet.
func (d *draft) ranBefore(now time.Time) {
	ran, j := d.state.Ran, d.m.job
	first := j.Schedule.Next(later(d.state.Mark, ran.After))
	if first.IsZero() || first.After(ran.UpTo) || first.After(now) {
		return
	}
	before := d.unsettled(first.Add(-time.Nanosecond))
	d.dropTicks(before, jobstore.StateMissed, d.why(before.last, false))
	d.dropTicks(d.unsettled(earlier(ran.UpTo, now)), jobstore.StateMissed, ReasonRan)
}

// maxGaps bounds the gaps in a state.
const maxGaps = 4

// skipTo moves the mark over ticks that are not opened, and keeps as a gap those that certainly have not been opened before either. A gap
// matters as long as a clock that was ahead by its length can be set back into it, and unless a later gap is longer.
func (d *draft) skipTo(t time.Time) {
	gap := jobstore.Range{After: later(d.state.Mark, d.m.floor), UpTo: t}
	if t.After(d.state.Ran.After) {
		gap.After = later(gap.After, d.state.Ran.UpTo)
	}
	d.state.Mark = later(d.state.Mark, t)
	if gap.Length() <= 0 {
		return
	}
	gaps := slices.DeleteFunc(slices.Clone(d.state.Gaps), func(g jobstore.Range) bool {
		return g.Length() <= gap.Length() || gap.UpTo.Sub(g.UpTo) >= g.Length()
	})
	gaps = append(gaps, gap) // the shortest
	d.state.Gaps = gaps[:min(len(gaps), maxGaps)]
}
