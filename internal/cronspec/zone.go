package cronspec

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// calendar is the schedule of a spec in a zone.
//
// It uses only the sets of robfig's schedule, to find matching readings of a wall clock. A reading is written as a time in UTC,
// where every day has 24 hours. This code converts readings to instants itself, one stretch of constant offset after the other.
type calendar struct {
	spec   *cron.SpecSchedule
	zone   *time.Location
	hourly bool // fires in every hour of the day
	fixed  bool // its times of day are plain values
}

// newCalendar returns the schedule of a checked spec's words. timeOfDay are those of its words that give the time of day.
func newCalendar(words, timeOfDay []string, zone *time.Location) (Schedule, error) {
	spec, err := ask(parser, strings.Join(words, " "))
	if err != nil {
		return nil, err
	}

	const allHours = 1<<24 - 1
	hourly := spec.Hour&allHours == allHours
	fixed := !hourly && !strings.ContainsAny(strings.Join(timeOfDay, " "), "*?-/")
	c := &calendar{spec: spec, zone: zone, hourly: hourly, fixed: fixed}

	// The year 2000 has every possible date.
	if match(spec, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, errors.New("never fires: none of its months has that day of month")
	}
	return c, nil
}

// Next returns the first tick after the given instant, in UTC, or the zero time if that instant is
// outside the years 1 to 9999.
func (c *calendar) Next(after time.Time) time.Time {
	t := after.UTC().Truncate(time.Second).Add(time.Second)
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}

	for {
		s := stretchAt(t, c.zone)
		reading := match(c.spec, c.resume(s, t))
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
func (c *calendar) resume(s stretch, t time.Time) time.Time {
	reading := t.Add(s.offset)
	reached := s.start.Add(s.before) // what the clock would have read at the start without the change
	jumped := t.Equal(s.start) && reached.Before(reading)
	repeats := reached.After(reading)
	if jumped && !c.hourly || repeats && c.fixed {
		return reached
	}
	return reading
}

// Reading returns what the zone's clock shows at an instant. It stands still while the clock repeats readings. It is the zero time if
// the ticks are the same whatever the clock shows: those of a spec that fires in every hour follow real time.
func (c *calendar) Reading(at time.Time) time.Time {
	if c.hourly || c.zone == time.UTC {
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
