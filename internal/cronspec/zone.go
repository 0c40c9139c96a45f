package cronspec

import "time"

// clock is the clock of a zone, as ticks follow it.
//
// What it shows is a reading: a time in UTC, where every day has 24 hours. Ticks are searched among readings, and this code converts
// them to instants, one stretch of constant offset after the other.
type clock struct {
	zone   *time.Location
	hourly bool // the ticks come in every hour of the day
	fixed  bool // their times of day are plain values
}

// next returns the first tick after an instant. match returns the first matching reading at or after another one, or the zero time.
func (c clock) next(after time.Time, match func(from time.Time) time.Time) time.Time {
	t := after.UTC().Truncate(time.Second).Add(time.Second)
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}

	for {
		s := stretchAt(t, c.zone)
		reading := match(c.resume(s, t))
		if reading.IsZero() {
			return time.Time{}
		}
		tick := reading.Add(-s.offset)
		if tick.Before(t) { // the clock jumped over this reading, at t
			tick = t
		}
		if s.end.IsZero() || tick.Before(s.end) {
			return tick
		}
		t = s.end
	}
}

// resume returns the reading from which to search at instant t of stretch s. That is the clock's reading at t, with two
// exceptions: readings that the clock jumped over are searched too, and readings that it repeats may be omitted.
func (c clock) resume(s stretch, t time.Time) time.Time {
	reading := t.Add(s.offset)
	reached := s.start.Add(s.before) // what the clock would have read at the start without the change
	jumped := t.Equal(s.start) && reached.Before(reading)
	repeats := reached.After(reading)
	if jumped && !c.hourly || repeats && c.fixed {
		return reached
	}
	return reading
}

// reading returns what the clock shows at an instant. It stands still while the clock repeats readings. It is the zero time in UTC.
func (c clock) reading(at time.Time) time.Time {
	if c.zone == time.UTC {
		return time.Time{}
	}
	s := stretchAt(at, c.zone)
	return later(at.Add(s.offset), s.start.Add(s.before)).UTC()
}

// stretch is a span of time in which a zone keeps one offset. It includes start and excludes end.
type stretch struct {
	start, end time.Time     // zero if unbounded
	offset     time.Duration // how far the zone's clock is ahead of UTC
	before     time.Duration // the offset until start
}

func stretchAt(t time.Time, zone *time.Location) stretch {
	t = t.In(zone)
	start, end := t.ZoneBounds()
	s := stretch{start: start.UTC(), end: end.UTC(), offset: offsetAt(t)}
	s.before = s.offset
	if !start.IsZero() {
		s.before = offsetAt(start.Add(-time.Second))
	}
	if !end.IsZero() && !end.After(t) {
		// ZoneBounds assumes 365 days for years beyond the zone's table. So on the last day of a leap year, the end that it
		// returns is not after t.
		s.end = time.Date(t.UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return s
}

func offsetAt(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
