package cronspec

import (
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"
)

// Count returns the number of ticks after one instant and up to another. It looks at days, not at ticks.
func (c *calendar) Count(after, upTo time.Time) (n int) {
	until := upTo.UTC().Truncate(time.Second).Add(time.Second)
	for t := after.UTC().Truncate(time.Second).Add(time.Second); t.Before(until); {
		s := stretchAt(t, c.zone)
		end := until
		if !s.end.IsZero() && s.end.Before(until) {
			end = s.end
		}
		from, second := c.resume(s, t), t.Add(s.offset+time.Second)
		n += min(1, count(c.spec, from, second)) // readings that the clock jumped over are one tick, at t
		n += count(c.spec, later(from, second), end.Add(s.offset))
		t = end
	}
	return n
}

// count returns how many readings of a wall clock match the spec, from one reading on and before another.
func count(spec *cron.SpecSchedule, from, until time.Time) (n int) {
	for day := from.Truncate(24 * time.Hour); day.Before(until); day = day.Add(24 * time.Hour) {
		_, month, date := day.Date()
		if has(spec.Month, int(month)) && isDay(spec, date, day.Weekday()) {
			n += max(0, timesBefore(spec, until.Sub(day))-timesBefore(spec, from.Sub(day)))
		}
	}
	return n
}

// timesBefore returns how many times of day match the spec before a time since midnight, which may be negative or above a day.
func timesBefore(spec *cron.SpecSchedule, t time.Duration) int {
	t = min(max(t, 0), 24*time.Hour)
	below := func(set uint64, value int) int { return bits.OnesCount64(set & (1<<value - 1)) }
	h, m, s := int(t/time.Hour), int(t/time.Minute)%60, int(t/time.Second)%60
	seconds := below(spec.Second, 60)
	n := below(spec.Hour, h) * below(spec.Minute, 60) * seconds
	if has(spec.Hour, h) {
		n += below(spec.Minute, m) * seconds
		if has(spec.Minute, m) {
			n += below(spec.Second, s)
		}
	}
	return n
}
