package cronspec

import "time"

// Count returns the number of ticks after one instant and up to another. It looks at days, not at ticks.
func (c *Calendar) Count(after, upTo time.Time) (n int) {
	until := upTo.UTC().Truncate(time.Second).Add(time.Second)
	for t := after.UTC().Truncate(time.Second).Add(time.Second); t.Before(until); {
		s := stretchAt(t, c.clock.zone)
		end := until
		if !s.end.IsZero() && s.end.Before(until) {
			end = s.end
		}
		from, second := c.clock.resume(s, t), t.Add(s.offset+time.Second)
		n += min(1, c.count(from, second)) // readings that the clock jumped over are one tick, at t
		n += c.count(later(from, second), end.Add(s.offset))
		t = end
	}
	return n
}

// count returns how many readings of a wall clock match, from one reading on and before another.
func (c *Calendar) count(from, until time.Time) (n int) {
	var days Set
	for day := from.Truncate(24 * time.Hour); day.Before(until); day = day.Add(24 * time.Hour) {
		year, month, date := day.Date()
		if date == 1 || days == 0 {
			days = c.daysIn(year, month)
		}
		if days.Has(date) {
			n += max(0, c.timesBefore(until.Sub(day))-c.timesBefore(from.Sub(day)))
		}
	}
	return n
}

// timesBefore returns how many times of day match before a time since midnight, which may be negative or above a day.
func (c *Calendar) timesBefore(t time.Duration) int {
	t = min(max(t, 0), 24*time.Hour)
	h, m, s := int(t/time.Hour), int(t/time.Minute)%60, int(t/time.Second)%60
	seconds := c.Second.below(60)
	n := c.Hour.below(h) * c.Minute.below(60) * seconds
	if c.Hour.Has(h) {
		n += c.Minute.below(m) * seconds
		if c.Minute.Has(m) {
			n += c.Second.below(s)
		}
	}
	return n
}
