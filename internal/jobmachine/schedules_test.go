package jobmachine_test

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
)

// every is a schedule that ticks at all multiples of an interval.
type every time.Duration

func (e every) Next(t time.Time) time.Time { return t.Truncate(time.Duration(e)).Add(time.Duration(e)) }

func (e every) Count(after, upTo time.Time) int {
	return int(upTo.Truncate(time.Duration(e)).Sub(after.Truncate(time.Duration(e))) / time.Duration(e))
}

func (every) Reading(time.Time) time.Time { return time.Time{} }

// local is a schedule that ticks at all multiples of an interval by a clock that is ahead of UTC.
type local struct {
	every
	ahead time.Duration
}

func (l local) Next(t time.Time) time.Time { return l.every.Next(t.Add(l.ahead)).Add(-l.ahead) }

func (l local) Count(after, upTo time.Time) int { return count(l, after, upTo) }

func (l local) Reading(t time.Time) time.Time { return t.Add(l.ahead) }

// withGaps is a schedule that ticks each minute in the first twenty minutes of each hour.
type withGaps struct{}

func (withGaps) Next(t time.Time) time.Time {
	next := every(time.Minute).Next(t)
	if next.Minute() < 20 {
		return next
	}
	return every(time.Hour).Next(t)
}

func (withGaps) Reading(time.Time) time.Time { return time.Time{} }

func (s withGaps) Count(after, upTo time.Time) int { return count(s, after, upTo) }

func count(s jobmachine.Schedule, after, upTo time.Time) (n int) {
	for t := s.Next(after); !t.IsZero() && !t.After(upTo); t = s.Next(t) {
		n++
	}
	return n
}

// until is a schedule that has a last tick.
type until struct {
	schedule jobmachine.Schedule
	end      time.Time
}

func (u until) Next(t time.Time) time.Time {
	if next := u.schedule.Next(t); !next.After(u.end) {
		return next
	}
	return time.Time{}
}

func (u until) Reading(t time.Time) time.Time { return u.schedule.Reading(t) }

func (u until) Count(after, upTo time.Time) int { return count(u, after, upTo) }

// day is the instant at which the simulated days begin.
var day = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// counted counts the calls of a schedule.
type counted struct {
	jobmachine.Schedule
	calls *int
}

func (c counted) Next(t time.Time) time.Time {
	*c.calls++
	return c.Schedule.Next(t)
}

func (c counted) Count(after, upTo time.Time) int {
	*c.calls++
	return c.Schedule.Count(after, upTo)
}
