package cronspec_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/cronspec"
)

// dayItem is an item of a day field, and its meaning as a plain condition.
type dayItem struct {
	text    string
	matches func(day time.Time) bool
}

var (
	dateItems = rapid.Custom(func(t *rapid.T) dayItem {
		n := rapid.IntRange(1, 31).Draw(t, "day")
		text := strconv.Itoa(n)
		return rapid.SampledFrom([]dayItem{
			{text, func(day time.Time) bool { return day.Day() == n }},
			{text + "-31", func(day time.Time) bool { return day.Day() >= n }},
			{"1-31/3", func(day time.Time) bool { return day.Day()%3 == 1 }},
			{"L", func(day time.Time) bool { return day.AddDate(0, 0, 1).Day() == 1 }},
			{"L-" + strconv.Itoa(min(n, 30)), func(day time.Time) bool { return day.Day()+min(n, 30) == length(day) }},
			{text + "W", func(day time.Time) bool { return n <= length(day) && day.Day() == nearestTo(day, n) }},
			{"LW", func(day time.Time) bool { return day.Day() == nearestTo(day, length(day)) }},
		}).Draw(t, "date")
	})
	weekdayItems = rapid.Custom(func(t *rapid.T) dayItem {
		weekday, n := rapid.IntRange(0, 7).Draw(t, "weekday"), rapid.IntRange(1, 5).Draw(t, "n")
		text := rapid.SampledFrom([]string{strconv.Itoa(weekday), strings.Fields("sun mon tue wed thu fri sat sun")[weekday]}).Draw(t, "name")
		is := func(day time.Time) bool { return int(day.Weekday()) == weekday%7 }
		return rapid.SampledFrom([]dayItem{
			{text, is},
			{"0-6/2", func(day time.Time) bool { return day.Weekday()%2 == 0 }},
			{text + "#" + strconv.Itoa(n), func(day time.Time) bool { return is(day) && (day.Day()+6)/7 == n }},
			{text + "L", func(day time.Time) bool { return is(day) && day.AddDate(0, 0, 7).Month() != day.Month() }},
		}).Draw(t, "weekday item")
	})
)

// Every day of 28 years, which have all kinds of years, and of those around 2100, which is no leap year.
func TestDays_AreThoseOfAPlainCondition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dates := rapid.SliceOfN(dateItems, 0, 3).Draw(t, "dates")
		weekdays := rapid.SliceOfN(weekdayItems, 0, 3).Draw(t, "weekdays")
		both := rapid.Bool().Draw(t, "both") && len(weekdays) > 0
		field := func(items []dayItem) (text string, matches func(day time.Time) bool) {
			if len(items) == 0 {
				return "*", func(time.Time) bool { return true }
			}
			var texts []string
			for _, item := range items {
				texts = append(texts, item.text)
			}
			return strings.Join(texts, ","), func(day time.Time) bool {
				for _, item := range items {
					if item.matches(day) {
						return true
					}
				}
				return false
			}
		}
		date, isDate := field(dates)
		weekday, isWeekday := field(weekdays)
		if both {
			weekday = "+" + weekday
		}
		spec := "0 0 " + date + " * " + weekday
		both = both || len(dates) == 0 || len(weekdays) == 0
		matches := func(day time.Time) bool {
			if both {
				return isDate(day) && isWeekday(day)
			}
			return isDate(day) || isWeekday(day)
		}

		schedule, err := cronspec.Parse(spec, nil)
		if err == nil { // the plan has the same days
			plan := schedule.Plan()
			if schedule, err = cronspec.ParsePlan(plan); err != nil || schedule.Plan() != plan {
				t.Fatalf("%q has the plan %q, which is read as %v, %v", spec, plan, schedule, err)
			}
		}
		ticks := 0
		for _, years := range [][2]int{{2000, 2028}, {2096, 2105}} {
			var tick time.Time
			end := time.Date(years[1], 1, 1, 0, 0, 0, 0, time.UTC)
			for day := time.Date(years[0], 1, 1, 0, 0, 0, 0, time.UTC); day.Before(end); day = day.AddDate(0, 0, 1) {
				if err == nil && !tick.After(day.Add(-1)) {
					tick = schedule.Next(day.Add(-1))
				}
				if is := matches(day); err == nil && tick.Equal(day) != is {
					t.Fatalf("%q: tick on %v: %v, want %v", spec, day, tick.Equal(day), is)
				} else if is {
					ticks++
				}
			}
		}
		if (ticks > 0) != (err == nil) {
			t.Fatalf("%q has %d ticks, and Parse says %v", spec, ticks, err)
		}
	})
}
