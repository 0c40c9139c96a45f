package dashboard

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/cronspec"
)

const (
	fewTimes  = 4  // up to this many times of a day are listed one by one
	fewValues = 10 // up to this many evenly spaced values of a field are listed one by one
)

var (
	cronSecond = cronField{name: "second", size: 60}
	cronMinute = cronField{name: "minute", size: 60}
	cronHour   = cronField{name: "hour", size: 24}
	cronDay    = cronField{name: "day", size: 31}
	cronMonth  = cronField{name: "month", size: 12, first: 1, names: strings.Fields(
		"January February March April May June July August September October November December")}
	cronWeekday = cronField{name: "weekday", size: 7, names: strings.Fields(
		"Sunday Monday Tuesday Wednesday Thursday Friday Saturday")}

	ordinals = strings.Fields("last first second third fourth fifth") // of a weekday in a month
)

type cronField struct {
	name  string
	size  int      // number of values
	first int      // the value of the first name
	names []string // of the values
}

// cronSet is the set of values of one field of a spec.
type cronSet struct {
	cronField
	values []int // ascending; Sunday is 7
}

func (f cronField) of(values cronspec.Set) cronSet {
	set := cronSet{f, values.Values()}
	if f.size == cronWeekday.size && values.Has(0) {
		set.values = append(set.values[1:], 7)
	}
	return set
}

// words says in English when a spec fires, without its zone. It returns "" for a spec that the scheduler refuses. In
// one zone, specs with the same words have the same ticks, except when the zone's clock is set back (see
// [scheduler.Parse]).
func words(spec string) string {
	schedule, err := cronspec.Parse(spec, nil)
	if err != nil {
		return ""
	}
	switch s := schedule.(type) {
	case cronspec.Every:
		return intervalWords(time.Duration(s) * time.Second)
	case cronspec.Once:
		return s.Local.Format("once, on 2 January 2006 at " + clockLayout(s.Local.Second() == 0))
	case *cronspec.Calendar:
		return calendarWords(s)
	}
	return ""
}

func calendarWords(c *cronspec.Calendar) string {
	hour, month := cronHour.of(c.Hour), cronMonth.of(c.Month)
	text, listed := timeWords(cronSecond.of(c.Second), cronMinute.of(c.Minute), hour)
	days, combined := dayWords(c.Days, month)
	switch {
	case days == "every day" && hour.full(): // the words of the hours already say so
	case listed && !combined && month.full():
		text = days + " " + text
	default:
		text = days + ", " + text
	}
	if !month.full() {
		text = "in " + month.list() + ", " + text
	}
	return text
}

func intervalWords(d time.Duration) string {
	said := []string{"every"}
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := d / unit.size; n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, unit.name))
		}
		d %= unit.size
	}
	return strings.Join(said, " ")
}

// dayWords describes the days of the given months. combined is true if both fields of the spec restrict them.
func dayWords(d cronspec.Days, month cronSet) (text string, combined bool) {
	dates, weekdays := dateWords(d, month.full()), weekdayWords(d, month.full())
	switch {
	case d.AnyDate() && d.AnyWeekday():
		return "every day", false
	case d.AnyDate():
		return weekdays, false
	case d.AnyWeekday():
		return dates, false
	case d.Both:
		return weekdays + " that falls " + dates, true
	default:
		return dates + " or " + weekdays, true
	}
}

// dateWords describes the days of the month.
func dateWords(d cronspec.Days, everyMonth bool) string {
	var items []string
	longest := 0 // the days that a month must have
	if d.Dates != 0 {
		dates := cronDay.of(d.Dates)
		items, longest = append(items, dates.said()), slices.Max(dates.values)
	}
	for _, n := range d.Last.Values() {
		longest = max(longest, n+1)
		switch n {
		case 0:
			items = append(items, "the last day")
		case 1:
			items = append(items, "the last day but one")
		default:
			items = append(items, fmt.Sprintf("the day %d days before the last one", n))
		}
	}
	for _, day := range d.Nearest.Values() {
		longest = max(longest, day)
		if day == 0 {
			items = append(items, "the last weekday")
		} else {
			items = append(items, fmt.Sprintf("the weekday nearest to day %d", day))
		}
	}
	text := "on " + joined(items)
	switch {
	case !everyMonth:
	case longest <= 28:
		text += " of every month"
	default: // not every month has that day
		text += " of the month"
	}
	return text
}

// weekdayWords describes the days of the week.
func weekdayWords(d cronspec.Days, everyMonth bool) string {
	var items []string
	switch weekday := cronWeekday.of(d.Weekdays); {
	case slices.Equal(weekday.values, []int{1, 2, 3, 4, 5}):
		items = append(items, "every weekday (Monday to Friday)")
	case len(weekday.values) > 0:
		items = append(items, "every "+weekday.list())
	}
	on, of := "", ""
	if len(items) == 0 {
		on = "on "
	}
	for n, set := range d.Nth {
		for _, weekday := range set.Values() {
			items = append(items, "the "+ordinals[n]+" "+cronWeekday.names[weekday])
			if everyMonth {
				of = " of the month"
			}
		}
	}
	return on + joined(items) + of
}

// timeWords describes the times of a day. listed is true if it lists them one by one.
func timeWords(second, minute, hour cronSet) (text string, listed bool) {
	times := func(yield func(int) bool) { // in seconds since midnight
		for _, h := range hour.values {
			for _, m := range minute.values {
				for _, s := range second.values {
					if !yield(h*3600 + m*60 + s) {
						return
					}
				}
			}
		}
	}
	atZero := slices.Equal(second.values, []int{0})
	layout := clockLayout(atZero)
	clock := func(t int) string { return time.Unix(int64(t), 0).UTC().Format(layout) }

	if len(hour.values)*len(minute.values)*len(second.values) <= fewTimes {
		var clocks []string
		for t := range times {
			clocks = append(clocks, clock(t))
		}
		return "at " + joined(clocks), true
	}
	first, last, step := evenStep(times)
	switch {
	case step > 0 && !hour.full():
		return fmt.Sprintf("every %s from %s to %s", stepWords(step), clock(first), clock(last)), false
	case step > 0 && step < 3600 && first == 0: // the same across midnight
		return "every " + stepWords(step), false
	case hour.full() && minute.full():
		return "every minute, at " + second.said(), false
	}

	text = minute.said()
	if !atZero {
		text = second.said() + " of " + text
	}
	if !strings.HasPrefix(text, "every ") {
		text = "at " + text
	}
	if hour.full() {
		return "every hour, " + text, false
	}
	return text + " of " + hour.said(), false
}

func stepWords(seconds int) string {
	n, unit := seconds, "second"
	switch {
	case seconds%3600 == 0:
		n, unit = seconds/3600, "hour"
	case seconds%60 == 0:
		n, unit = seconds/60, "minute"
	}
	if n == 1 {
		return unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// clockLayout returns how a time of day is shown.
func clockLayout(isWholeMinute bool) string {
	if isWholeMinute {
		return "15:04"
	}
	return time.TimeOnly
}

func (s cronSet) full() bool { return len(s.values) == s.size }

// said returns, for example, "every hour", "hour 2" or "hours 2 to 6 and 9".
func (s cronSet) said() string {
	switch {
	case s.full():
		return "every " + s.name
	case len(s.values) == 1:
		return s.name + " " + s.list()
	default:
		return s.name + "s " + s.list()
	}
}

func (s cronSet) list() string {
	v := s.values
	if _, last, step := evenStep(slices.Values(v)); len(v) > fewValues && step > 1 {
		return fmt.Sprintf("%d, %d, %d, ..., %d", v[0], v[1], v[2], last)
	}

	var items []string
	for i := 0; i < len(v); i++ {
		item, start := s.text(v[i]), i
		for i+1 < len(v) && v[i+1] == v[i]+1 {
			i++
		}
		switch i - start {
		case 0:
			items = append(items, item)
		case 1:
			items = append(items, item, s.text(v[i]))
		default:
			items = append(items, item+" to "+s.text(v[i]))
		}
	}
	return joined(items)
}

func (s cronSet) text(value int) string {
	if s.names == nil {
		return strconv.Itoa(value)
	}
	return s.names[(value-s.first)%len(s.names)]
}

func joined(items []string) string {
	last := len(items) - 1
	if last == 0 {
		return items[0]
	}
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// evenStep returns the first and last of rising values, and the distance between neighbors, or 0 if the distances
// differ.
func evenStep(values iter.Seq[int]) (first, last, step int) {
	first, last, step = -1, -1, -1 // not known yet
	for v := range values {
		switch {
		case first < 0:
			first = v
		case step < 0:
			step = v - last
		case v-last != step:
			step = 0
		}
		last = v
	}
	return first, last, step
}
