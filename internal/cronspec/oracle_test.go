package cronspec_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/cronspec"
)

// oracleSpecs have ticks in or near the hours in which zones change their clocks. Each has its meaning a second time, as a plain
// condition on a reading of the wall clock.
var oracleSpecs = []struct {
	spec    string
	matches func(wall time.Time) bool
	hourly  bool
	fixed   bool
}{
	{spec: "* * * * *", hourly: true, matches: func(time.Time) bool { return true }},
	{spec: "30 * * * *", hourly: true, matches: func(w time.Time) bool { return w.Minute() == 30 }},
	{spec: "*/25 2 * * *", matches: func(w time.Time) bool {
		return w.Hour() == 2 && w.Minute()%25 == 0
	}},
	{spec: "15 */2 * * *", matches: func(w time.Time) bool {
		return w.Hour()%2 == 0 && w.Minute() == 15
	}},
	{spec: "0 0 * * *", fixed: true, matches: func(w time.Time) bool {
		return w.Hour() == 0 && w.Minute() == 0
	}},
	{spec: "59 23 * * 6", fixed: true, matches: func(w time.Time) bool {
		return w.Weekday() == time.Saturday && w.Hour() == 23 && w.Minute() == 59
	}},
	{spec: "15,45 0,1,2,23 * * *", fixed: true, matches: func(w time.Time) bool {
		return (w.Hour() <= 2 || w.Hour() == 23) && w.Minute()%30 == 15
	}},
	{spec: "*/30 0-3 * * 0#1,7#2,sunL,6#4", matches: func(w time.Time) bool {
		inMonth := func(days int) bool { return w.AddDate(0, 0, days).Month() == w.Month() }
		sunday := w.Weekday() == time.Sunday && (!inMonth(-14) || !inMonth(7))
		saturday := w.Weekday() == time.Saturday && inMonth(-21) && !inMonth(-28)
		return (sunday || saturday) && w.Hour() <= 3 && w.Minute()%30 == 0
	}},
	{spec: "15 0,1,2,23 L,L-1,LW,1W,8W * +*/1", fixed: true, matches: func(w time.Time) bool {
		return (w.Hour() <= 2 || w.Hour() == 23) && w.Minute() == 15 && (w.AddDate(0, 0, 2).Day() <= 2 ||
			w.Day() == nearestTo(w, length(w)) || w.Day() == nearestTo(w, 1) || w.Day() == nearestTo(w, 8))
	}},
	{spec: "0 12 1,8,30 * *", fixed: true, matches: func(w time.Time) bool {
		return (w.Day() == 1 || w.Day() == 8 || w.Day() == 30) && w.Hour() == 12 && w.Minute() == 0
	}},
}

// nearestTo returns the day from Monday to Friday that is nearest to a day of the month.
func nearestTo(wall time.Time, day int) (nearest int) {
	for d := max(day-2, 1); d <= min(day+2, length(wall)); d++ {
		weekday := wall.AddDate(0, 0, d-wall.Day()).Weekday()
		if weekday != time.Saturday && weekday != time.Sunday && (nearest == 0 || abs(day-d) < abs(day-nearest)) {
			nearest = d
		}
	}
	return nearest
}

// length returns the number of days of a day's month.
func length(day time.Time) int { return day.AddDate(0, 1, -day.Day()).Day() }

func abs(n int) int { return max(n, -n) }

// Ticks around changes of a zone's clock are those that a search finds which reads the clock once a minute. 2040 and 2044 are leap
// years beyond the tables of the zone database. TestZone_AgreesWithASearchAroundEveryChangeOfEveryZone has the changes from 2000 to
// 2040.
func TestZone_AgreesWithAMinuteByMinuteSearch(t *testing.T) {
	for name, days := range map[string][]string{ // by UTC
		"America/New_York":    {"2040-03-11", "2040-11-04", "2040-12-31", "2041-03-10", "2041-11-03"},
		"Australia/Lord_Howe": {"2044-04-02", "2044-10-01", "2044-12-31", "2045-04-01", "2045-09-30"},
		"Pacific/Kwajalein":   {"1993-08-21"},
	} {
		for _, text := range days {
			day := at(t, text+"T00:00:00Z")
			compareWithSearch(t, zone(t, name), day.AddDate(0, 0, -1), day.AddDate(0, 0, 2))
		}
	}
}

func compareWithSearch(t *testing.T, loc *time.Location, from, until time.Time) {
	t.Helper()
	for _, s := range oracleSpecs {
		schedule, err := cronspec.Parse(s.spec, loc)
		if err != nil {
			t.Fatal(err)
		}
		var got []time.Time
		for tick := schedule.Next(from); tick.Before(until); tick = schedule.Next(tick) {
			got = append(got, tick)
		}

		// reached is the latest reading so far. The present reading is a minute after it unless the clock was changed.
		var want []time.Time
		reached := reading(from, loc)
		for now := from.Add(time.Minute); now.Before(until); now = now.Add(time.Minute) {
			wall, fires := reading(now, loc), false
			for w := reached.Add(time.Minute); w.Before(wall) && !s.hourly; w = w.Add(time.Minute) {
				fires = fires || s.matches(w)
			}
			if wall.After(reached) || !s.fixed {
				fires = fires || s.matches(wall)
			}
			if fires {
				want = append(want, now)
			}
			if wall.After(reached) {
				reached = wall
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q in %s from %s:\n got %v\nwant %v", s.spec, loc, from, format(got), format(want))
		}
		wantCounts(t, schedule, from, until.Add(-time.Second), got)
	}
}

// wantCounts compares the numbers of the ticks that came by many instants, and of those that come after, with a list of them.
func wantCounts(t rapid.TB, schedule cronspec.Schedule, from, until time.Time, ticks []time.Time) {
	t.Helper()
	count := schedule.Count
	for at := from; at.Before(until); at = at.Add(until.Sub(from) / 50) {
		past, _ := slices.BinarySearchFunc(ticks, at.Add(1), time.Time.Compare)
		if n, later := count(from, at), count(at, until); n != past || later != len(ticks)-past {
			t.Fatalf("%d ticks from %v to %v, and %d to %v; want %d and %d", n, from, at, later, until, past, len(ticks)-past)
		}
	}
}

// reading returns what the zone's clock shows, as a time in UTC.
func reading(t time.Time, loc *time.Location) time.Time {
	_, offset := t.In(loc).Zone()
	return t.Add(time.Duration(offset) * time.Second)
}
