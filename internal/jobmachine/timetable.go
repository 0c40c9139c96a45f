package jobmachine

import (
	"sort"
	"time"
)

const (
	maxAll     = 1000   // ticks that are caught up with at a time
	maxCounted = 10_000 // ticks that are counted one by one
)

// ticks is a range of ticks of a job that follow each other.
type ticks struct {
	first, last time.Time
	n           int // of very many, about maxCounted are counted
}

// due returns the ticks after an instant whose runs have to begin by another one. Runs begin in the order of their ticks: each
// begins before the next tick.
func (j *Job) due(after, by time.Time) ticks {
	first := j.Schedule.Next(after)
	if first.IsZero() || j.StartOf(first).After(by) {
		return ticks{}
	}
	all := j.between(first, by)
	if all.last.After(first) && j.StartOf(all.last).After(by) {
		all = j.between(first, all.last.Add(-time.Nanosecond))
	}
	return all
}

// between returns the ticks from the first one on that have come by an instant.
func (j *Job) between(first, by time.Time) ticks {
	after := func(t time.Time) (tick time.Time, isDue bool) {
		tick = j.Schedule.Next(t)
		return tick, !tick.IsZero() && !tick.After(by)
	}
	all := ticks{first: first, last: first, n: 1}
	for ; all.n <= maxCounted; all.n++ {
		next, isDue := after(all.last)
		if !isDue {
			return all
		}
		all.last = next
	}
	// Search for the last second after which one is due.
	from := all.last
	n := sort.Search(int(by.Sub(from)/time.Second)+1, func(i int) bool {
		_, isDue := after(from.Add(time.Duration(i) * time.Second))
		return !isDue
	})
	if n > 0 {
		all.last, _ = after(from.Add(time.Duration(n-1) * time.Second))
	}
	return all
}

// oldest returns the oldest tick after an instant that [CatchUp].All runs: one of the newest maxAll, and in the window unless it
// has waited for a run.
func (j *Job) oldest(after, now time.Time, waited bool) time.Time {
	from := after
	if late := j.due(after, now.Add(-j.CatchUp.Window)); late.n > 0 && !waited {
		from = late.last
	}
	if !j.hasMore(from, now) {
		return j.Schedule.Next(from)
	}
	n := sort.Search(int(now.Sub(from)/time.Second), func(i int) bool {
		return !j.hasMore(from.Add(time.Duration(i)*time.Second), now)
	})
	return j.Schedule.Next(from.Add(time.Duration(n) * time.Second))
}

// hasMore reports that more than maxAll ticks come after an instant and up to another one.
func (j *Job) hasMore(after, by time.Time) bool {
	for range maxAll + 1 {
		if after = j.Schedule.Next(after); after.IsZero() || after.After(by) {
			return false
		}
	}
	return true
}

// isLate reports that a tick is outside the catch-up window.
func (j *Job) isLate(tick, now time.Time) bool {
	return !j.StartOf(tick).After(now.Add(-j.CatchUp.Window))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// NewestDue returns the newest tick after an instant whose run has to begin by another one; the zero time if there is none.
func (j *Job) NewestDue(after, by time.Time) time.Time { return j.due(after, by).last }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
