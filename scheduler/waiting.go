package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Waiting is why something of a job that has come has not begun.
type Waiting struct {
	Tick  time.Time // of the run; for a triggered run, when it was triggered
	What  string    // such as "for its jitter", "for attempt 3" or "for a run before it"; empty: nothing waits
	Until time.Time // when it begins at the latest; zero: not known
}

// String describes it.
func (w Waiting) String() string {
	text := "waits " + w.What
	if w.What == "" {
		return ""
	}
	if !w.Until.IsZero() {
		text += " until " + w.Until.UTC().Format(time.DateTime)
	}
	return text
}

// waitingOf returns what the newest tick after a mark waits for, a trigger, or a run between two attempts.
func waitingOf(v *jobstore.View, timetable jobmachine.Job, mark, now time.Time, isLed bool) Waiting {
	for _, o := range v.State.Open {
		if o.Waits() {
			return Waiting{o.Slot.At, fmt.Sprintf("for attempt %d", o.Attempt), o.NotBefore}
		}
	}
	ticks := jobmachine.Job{Schedule: timetable.Schedule} // without the jitter
	tick := ticks.NewestDue(mark, now)
	start := timetable.StartOf(tick)
	switch {
	case start.After(now):
		return Waiting{tick, "for its jitter", start}
	case v.Loading && isLed && !tick.IsZero():
		return Waiting{tick, "for its source", time.Time{}}
	case v.Older && isLed && !tick.IsZero():
		return Waiting{tick, "for its leader to take it over", time.Time{}}
	case v.State.Waits != "" && tick.IsZero():
		return Waiting{v.Trigger.At(), strings.TrimPrefix(v.State.Waits, "it waits "), time.Time{}}
	case v.State.Waits != "":
		return Waiting{tick, strings.TrimPrefix(v.State.Waits, "it waits "), time.Time{}}
	case !tick.IsZero() && isLed && now.Sub(start) > jobmachine.LateTolerance:
		return Waiting{tick, "for enough nodes to store its start", time.Time{}}
	}
	return Waiting{}
}
