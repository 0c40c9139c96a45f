package cronspec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"
)

// The items of the day fields that robfig's parser does not know.
var (
	lastDay        = regexp.MustCompile(`^[Ll](?:-([0-9]+))?$`)
	nearestWeekday = regexp.MustCompile(`^([Ll]|[0-9]+)[Ww]$`)
	nthWeekday     = regexp.MustCompile(`^([0-9]+|[A-Za-z]{3})(?:[Ll]|#([0-9]+))$`)
)

// take adds the items of a field that robfig's parser does not know to the days, and returns the others.
func (d *Days) take(f field, items []string) (others []string, err error) {
	for _, item := range items {
		taken := false
		switch f.option {
		case cron.Dom:
			taken, err = d.takeDate(item)
		case cron.Dow:
			taken, err = d.takeWeekday(item)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", item, err)
		}
		if !taken {
			others = append(others, item)
		}
	}
	return others, nil
}

func (d *Days) takeDate(item string) (taken bool, err error) {
	if m := lastDay.FindStringSubmatch(item); m != nil {
		n := 0
		if m[1] != "" {
			n, err = field{min: 1, max: 30}.value(m[1])
		}
		d.Last |= 1 << n
		return true, err
	}
	if m := nearestWeekday.FindStringSubmatch(item); m != nil {
		n := 0
		if m[1] != "L" && m[1] != "l" {
			n, err = dateField.value(m[1])
		}
		d.Nearest |= 1 << n
		return true, err
	}
	return false, nil
}

func (d *Days) takeWeekday(item string) (taken bool, err error) {
	m := nthWeekday.FindStringSubmatch(item)
	if m == nil {
		return false, nil
	}
	weekday, err := weekdayField.value(m[1])
	if err != nil {
		return true, err
	}
	n := 0
	if m[2] != "" {
		n, err = field{min: 1, max: 5}.value(m[2])
	}
	d.Nth[n] |= 1 << (weekday % 7)
	return true, err
}

// text returns the two day fields.
func (d *Days) text() (dates, weekdays string) {
	var items []string
	add := func(n int, without string, format string, args ...any) {
		if n == 0 {
			items = append(items, without)
		} else {
			items = append(items, fmt.Sprintf(format, args...))
		}
	}
	values := func(f field, set Set) {
		text := f.text(set, false)
		if !d.Both { // a */2 would be ambiguous
			text = f.spelledOut(text)
		}
		if set != 0 {
			items = append(items, text)
		}
	}
	values(dateField, d.Dates)
	for _, n := range d.Last.Values() {
		add(n, "L", "L-%d", n)
	}
	for _, day := range d.Nearest.Values() {
		add(day, "LW", "%dW", day)
	}
	dates, items = strings.Join(items, ","), nil
	values(weekdayField, d.Weekdays)
	for n, set := range d.Nth {
		for _, w := range set.Values() {
			add(n, strconv.Itoa(w)+"L", "%d#%d", w, n)
		}
	}
	weekdays = strings.Join(items, ",")
	if d.Both && !d.AnyDate() && !d.AnyWeekday() {
		weekdays = "+" + weekdays
	}
	return dates, weekdays
}
