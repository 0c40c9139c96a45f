package jobmachine

import (
	"sort"
	"time"
)

const maxAll = 1000 // most ticks that are caught up with at a time

// ticks is a range of consecutive ticks of a job.
type ticks struct {
	first, last time.Time
	n           int
}

// NewestDue returns the newest tick after one instant whose run has to begin by another instant, or the zero time if there is none.
// Runs begin in the order of their ticks, since each begins before the next tick. NewestDue calls Schedule.Next about log2(n) times
// for n seconds between the instants.
func (j *Job) NewestDue(after, by time.Time) time.Time {
	newest := j.newest(after, by)
	if newest.IsZero() || !j.StartOf(newest).After(by) {
		return newest
	}
	return j.newest(after, newest.Add(-time.Nanosecond))
}

// newest returns the newest tick after one instant that has come by another instant, or the zero time if there is none.
func (j *Job) newest(after, by time.Time) time.Time {
	first := j.Schedule.Next(after)
	if first.IsZero() || first.After(by) {
		return time.Time{}
	}
	back := func(seconds int) time.Time {
		return j.Schedule.Next(later(after, by.Add(-time.Duration(seconds)*time.Second)))
	}
	n := sort.Search(int(by.Sub(first)/time.Second)+1, func(i int) bool { // seconds from the tick to by
		tick := back(i)
		return !tick.IsZero() && !tick.After(by)
	})
	if tick := back(n); !tick.After(by) {
		return tick
	}
	return time.Time{} // the schedule contradicts itself
}

// between returns the ticks from first on that have come by an instant.
func (j *Job) between(first, by time.Time) ticks {
	return ticks{first: first, last: later(first, j.newest(first, by)), n: 1 + j.Schedule.Count(first, by)}
}

// oldest returns the oldest tick after an instant that [CatchUp].All runs. It is one of the newest maxAll ticks and, unless it waited
// for a run, in the window.
func (j *Job) oldest(after, now time.Time, waited bool) time.Time {
	from := after
	if !waited {
		from = later(from, j.NewestDue(after, now.Add(-j.CatchUp.Window)))
	}
	if j.Schedule.Count(from, now) <= maxAll {
		return j.Schedule.Next(from)
	}
	n := sort.Search(int(now.Sub(from)/time.Second), func(i int) bool {
		return j.Schedule.Count(from.Add(time.Duration(i)*time.Second), now) <= maxAll
	})
	return j.Schedule.Next(from.Add(time.Duration(n) * time.Second))
}

// isLate reports whether a tick is outside the catch-up window.
func (j *Job) isLate(tick, now time.Time) bool {
	return !j.StartOf(tick).After(now.Add(-j.CatchUp.Window))
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
