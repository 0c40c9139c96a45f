package cronspec

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

const (
	cycle  = 40 // years within which every date and weekday occurs that ever does: 29 February 1888 and 1928 are Wednesdays
	minute = 60
	hour   = 60 * minute
)

// Calendar is the schedule of a spec's fields in a zone.
type Calendar struct {
	Second, Minute, Hour, Month Set
	Days
	clock clock
}

// newCalendar returns the schedule of sets of values, in the order of a spec's fields. plain reports that the spec's times of day are
// plain values.
func newCalendar(sets [len(layout)]Set, days Days, plain bool, zone *time.Location) (Schedule, error) {
	c := &Calendar{Second: sets[0], Minute: sets[1], Hour: sets[2], Month: sets[4], Days: days.normal()}
	hourly := c.Hour == layout[2].all()
	c.clock = clock{zone: zone, hourly: hourly, fixed: plain && !hourly}
	if c.match(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, errors.New("never comes: none of its months has such a day")
	}
	return c, nil
}

// Next returns the first tick after the given instant, in UTC, or the zero time if that instant is
// outside the years 1 to 9999.
func (c *Calendar) Next(after time.Time) time.Time { return c.clock.next(after, c.match) }

// Reading returns what the zone's clock shows at an instant. Ticks in every hour follow real time instead.
func (c *Calendar) Reading(at time.Time) time.Time {
	if c.clock.hourly {
		return time.Time{}
	}
	return c.clock.reading(at)
}

// match returns the first reading of a wall clock at or after from that matches the sets, or the zero time if no date does.
//
// It is faster than robfig's own search, which goes through a day minute by minute.
func (c *Calendar) match(from time.Time) time.Time {
	year, month, day := from.Date()
	days := c.daysIn(year, month)
	if seconds, ok := c.timeOfDay(from.Clock()); ok && days.Has(day) {
		return time.Date(year, month, day, 0, 0, seconds, 0, time.UTC)
	}
	for range cycle*12 + 1 {
		if day, ok := days.next(day + 1); ok {
			seconds, _ := c.timeOfDay(0, 0, 0) // no field is empty
			return time.Date(year, month, day, 0, 0, seconds, 0, time.UTC)
		}
		if day, month = 0, month+1; month > time.December {
			year, month = year+1, time.January
		}
		days = c.daysIn(year, month)
	}
	return time.Time{}
}

// daysIn returns the days of a month that match.
func (c *Calendar) daysIn(year int, month time.Month) Set {
	if !c.Month.Has(int(month)) {
		return 0
	}
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
	return c.Days.in(weekdayAfter(last.Weekday(), 1-last.Day()), last.Day())
}

// timeOfDay returns the first time of day at or after h:m:s that matches the sets, in seconds since midnight.
func (c *Calendar) timeOfDay(h, m, s int) (seconds int, ok bool) {
	if c.Hour.Has(h) {
		if c.Minute.Has(m) {
			if second, ok := c.Second.next(s); ok {
				return h*hour + m*minute + second, true
			}
		}
		if minutes, ok := c.Minute.next(m + 1); ok {
			return h*hour + minutes*minute + c.Second.lowest(), true
		}
	}
	hours, ok := c.Hour.next(h + 1)
	return hours*hour + c.Minute.lowest()*minute + c.Second.lowest(), ok
}

// Plan returns the plan of a calendar. Parsed again, it has the same sets, and the same times of day are fixed.
func (c *Calendar) Plan() string {
	var words []string
	for i, set := range []Set{c.Second, c.Minute, c.Hour} {
		words = append(words, layout[i].text(set, c.clock.fixed))
	}
	if !c.clock.fixed && !strings.ContainsAny(strings.Join(words, ""), "*-") {
		words[2] = strconv.Itoa(c.Hour.lowest()) + "-" + words[2] // 6,9,20 becomes 6-6,9,20, which is not fixed
	}
	dates, weekdays := c.Days.text()
	words = append(words, dates, layout[4].text(c.Month, false), weekdays)
	return planOf(c.clock.zone, strings.Join(words, " "))
}
