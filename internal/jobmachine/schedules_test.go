package jobmachine_test

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
)

// every is a schedule that ticks at all multiples of an interval.
type every time.Duration

func (e every) Next(t time.Time) time.Time { return t.Truncate(time.Duration(e)).Add(time.Duration(e)) }

// withGaps is a schedule that ticks each minute in the first twenty minutes of each hour.
type withGaps struct{}

func (withGaps) Next(t time.Time) time.Time {
	next := every(time.Minute).Next(t)
	if next.Minute() < 20 {
		return next
	}
	return every(time.Hour).Next(t)
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
