package dashboard

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	fewTimes  = 4  // up to this many times of a day are listed one by one
	fewValues = 10 // up to this many evenly spaced values of a field are listed one by one
)

var (
	cronSecond = cronField{name: "second", last: 59}
	cronMinute = cronField{name: "minute", last: 59}
	cronHour   = cronField{name: "hour", last: 23}
	cronDay    = cronField{name: "day", first: 1, last: 31}
	cronMonth  = cronField{name: "month", first: 1, last: 12, names: strings.Fields(
		"January February March April May June July August September October November December")}
	cronWeekday = cronField{name: "weekday", last: 6, names: strings.Fields(
		"Sunday Monday Tuesday Wednesday Thursday Friday Saturday")}

	cronDescriptors = map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
	}
)

type cronField struct {
	name        string
	first, last int      // the range of *
	names       []string // of the values, from first on; specs use their first three letters
}

// cronSet is the set of values of one field of a spec.
type cronSet struct {
	cronField
	values []int // ascending; Sunday is 7
	star   bool  // the field has * or ?
}

// words says in English when a spec fires, without its zone. It returns "" for a spec that the scheduler refuses. In
// one zone, specs with the same words have the same ticks, except when the zone's clock is set back (see
// [scheduler.Parse]).
func words(spec string) string {
	if _, err := scheduler.Parse(spec, nil); err != nil {
		return ""
	}
	texts := strings.Fields(spec)
	if strings.Contains(texts[0], "=") { // CRON_TZ=...
		texts = texts[1:]
	}
	if texts[0] == "@every" {
		return intervalWords(texts[1])
	}
	if long, ok := cronDescriptors[texts[0]]; ok {
		texts = strings.Fields(long)
	}
	if len(texts) == 5 {
		texts = slices.Insert(texts, 0, "0")
	}
	if len(texts) != 6 {
		return ""
	}

	hour, month := cronHour.read(texts[2]), cronMonth.read(texts[4])
	text, listed := timeWords(cronSecond.read(texts[0]), cronMinute.read(texts[1]), hour)
	days, either := dayWords(cronDay.read(texts[3]), cronWeekday.read(texts[5]), month)
	switch {
	case days == "every day" && hour.full(): // the words of the hours already say so
	case listed && !either && month.full():
		text = days + " " + text
	default:
		text = days + ", " + text
	}
	if !month.full() {
		text = "in " + month.list() + ", " + text
	}
	return text
}

func intervalWords(text string) string {
	d, _ := time.ParseDuration(text) // the scheduler has accepted it
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

// dayWords describes the two day fields. If neither has a star, the spec fires on days that match at least one of
// them, and either is true. Otherwise a day must match both, and every day matches a star.
func dayWords(date, weekday, month cronSet) (text string, either bool) {
	dates := "on " + date.said()
	switch {
	case !month.full():
	case slices.Max(date.values) <= 28:
		dates += " of every month"
	default: // not every month has that day
		dates += " of the month"
	}
	weekdays := "every " + weekday.list()
	if slices.Equal(weekday.values, []int{1, 2, 3, 4, 5}) {
		weekdays = "every weekday (Monday to Friday)"
	}

	either = !date.star && !weekday.star
	switch {
	case date.full() && weekday.full(), either && (date.full() || weekday.full()):
		return "every day", false
	case date.full():
		return weekdays, false
	case weekday.full():
		return dates, false
	default:
		return dates + " or " + weekdays, true
	}
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
	layout := time.TimeOnly
	atZero := slices.Equal(second.values, []int{0})
	if atZero {
		layout = "15:04"
	}
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

// read parses a field. The scheduler must have accepted the spec.
func (f cronField) read(text string) cronSet {
	set := cronSet{cronField: f}
	for part := range strings.SplitSeq(text, ",") {
		span, by, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(span, "-")
		step := 1
		if stepped {
			step = f.value(by)
		}
		first := f.value(from)
		last := first
		switch {
		case span == "*" || span == "?":
			first, last = f.first, f.last
			set.star = set.star || step == 1 // the scheduler does not count */2 as a star
		case ranged:
			last = f.value(to)
		case stepped:
			last = f.last
		}
		for v := first; v <= last; v += step {
			set.values = append(set.values, v)
		}
	}
	if f.name == "weekday" {
		for i, v := range set.values {
			set.values[i] = (v+6)%7 + 1
		}
	}
	slices.Sort(set.values)
	set.values = slices.Compact(set.values)
	return set
}

func (f cronField) value(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		n = f.first + slices.IndexFunc(f.names, func(name string) bool { return strings.EqualFold(name[:3], text) })
	}
	return n
}

func (s cronSet) full() bool { return len(s.values) == s.last-s.first+1 }

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

// evenStep returns the first and last of rising values, and the distance between neighbors, or 0 if the distances differ.
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
