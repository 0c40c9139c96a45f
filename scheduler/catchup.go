package scheduler

import (
	"fmt"
	"sort"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	defaultWindow = time.Hour
	maxWindow     = 366 * 24 * time.Hour

	// fresh is how late a tick may start without being one to catch up with: a graceful handover, or a round
	// without a quorum, takes no longer.
	fresh = 5 * time.Second

	maxAll     = 1000   // ticks that CatchUpAll catches up with at a time
	maxCounted = 10_000 // ticks that are counted one by one
)

// CatchUp is what happens to ticks that came while nobody led, or nobody could claim them. A job that is new
// to the nodes, or whose spec or zone has changed, has no ticks before that; nor has one that was paused
// before it was resumed. The zero value is CatchUpLast(time.Hour).
type CatchUp struct {
	kind   catchUpKind
	window time.Duration
}

type catchUpKind int

const (
	catchUpDefault catchUpKind = iota
	catchUpNone
	catchUpLast
	catchUpAll
)

// CatchUpNone leaves out ticks that are more than a few seconds late.
func CatchUpNone() CatchUp { return CatchUp{catchUpNone, fresh} }

// CatchUpLast runs the newest tick that was missed, once, if it is not older than window, 366 days at most. Too short:
// an outage costs a run. Too long: a run comes when it is of no use any more.
func CatchUpLast(window time.Duration) CatchUp { return CatchUp{catchUpLast, window} }

// CatchUpAll runs each tick that was missed and is not older than window, 366 days at most, one after the other, the
// oldest first; of more than 1000, the newest. One that cannot be claimed, as some nodes are away and others have
// forgotten what they voted for, is left out after five seconds, when the next one is due.
func CatchUpAll(window time.Duration) CatchUp { return CatchUp{catchUpAll, window} }

func (c CatchUp) orDefault() CatchUp {
	if c.kind == catchUpDefault {
		return CatchUpLast(defaultWindow)
	}
	return c
}

func (c CatchUp) problem() error {
	if c.window < 0 || c.window > maxWindow || c.kind != catchUpDefault && c.window == 0 {
		return fmt.Errorf("catch-up window %v must be above 0 and at most %v", c.window, maxWindow)
	}
	return nil
}

// due is what is to be done next about the ticks of a job that have come.
type due struct {
	tick     time.Time
	run      bool      // it is to be run; else it was missed too
	caughtUp bool      // it is late
	jumped   int       // ticks before it that are left out
	from     time.Time // the first of these
}

// next is what is to be done about the ticks after floor and up to now; false: none has come. Those up to past cannot be
// won, and are left out once there is a later one.
func (c CatchUp) next(s cron.Schedule, floor, past, now time.Time) (due, bool) {
	first := s.Next(floor)
	if first.IsZero() || first.After(now) {
		return due{}, false
	}
	var d due
	horizon := now.Add(-c.window)
	var all time.Time // the oldest that is run; zero: none, or not all are
	if c.kind == catchUpAll {
		all = s.Next(allFrom(s, later(later(floor, past), horizon), now))
	}
	switch {
	case all.IsZero() || all.After(now):
		d.tick, d.jumped = newest(s, first, now)
	case first.Before(all):
		_, before := newest(s, first, all.Add(-time.Nanosecond))
		d.tick, d.jumped = all, before+1
	default:
		d.tick = all
	}
	if d.jumped > 0 {
		d.from = first
	}
	d.run = d.tick.After(horizon)
	d.caughtUp = d.tick.Before(now.Add(-fresh))
	return d, true
}

// allFrom is the instant from which on, or after from if that is later, maxAll ticks have come by now.
func allFrom(s cron.Schedule, from, now time.Time) time.Time {
	tooMany := func(from time.Time) bool {
		for range maxAll + 1 {
			if from = s.Next(from); from.IsZero() || from.After(now) {
				return false
			}
		}
		return true
	}
	if !tooMany(from) {
		return from
	}
	n := sort.Search(int(now.Sub(from)/time.Second), func(i int) bool {
		return !tooMany(from.Add(time.Duration(i) * time.Second))
	})
	return from.Add(time.Duration(n) * time.Second)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// newest is the newest tick from first on that has come by now, and how many came before it: counted up to
// maxCounted.
func newest(s cron.Schedule, first, now time.Time) (tick time.Time, before int) {
	after := func(t time.Time) (tick time.Time, isDue bool) {
		tick = s.Next(t)
		return tick, !tick.IsZero() && !tick.After(now)
	}
	for tick = first; before < maxCounted; before++ {
		next, isDue := after(tick)
		if !isDue {
			return tick, before
		}
		tick = next
	}
	// Search for the last second that has one that is due after it.
	from := tick
	n := sort.Search(int(now.Sub(from)/time.Second)+1, func(i int) bool {
		_, isDue := after(from.Add(time.Duration(i) * time.Second))
		return !isDue
	})
	if n > 0 {
		tick, _ = after(from.Add(time.Duration(n-1) * time.Second))
	}
	return tick, before
}
