package cronspec

import "time"

// Days says on which days of a month a spec ticks. A field of a spec that is * has the set of all its values, and Both is true then. So
// all days are two such sets.
type Days struct {
	Dates   Set // of the month
	Last    Set // n days before the last day of the month: L and L-n
	Nearest Set // the day from Monday to Friday that is nearest to day n, in the same month: nW; 0 is LW

	Weekdays Set    // 0 is Sunday
	Nth      [6]Set // by n, the weekdays of which it is the n-th one in the month: 5#n; by 0, of which it is the last one: 5L

	Both bool // a day must match both fields; otherwise one of them is enough
}

// AnyDate reports whether every day of the month matches.
func (d *Days) AnyDate() bool { return d.Dates == dateField.all() }

// AnyWeekday reports whether every weekday matches.
func (d *Days) AnyWeekday() bool { return d.Weekdays == weekdayField.all() }

// normal returns the one form of all days that are the same.
func (d Days) normal() Days {
	d.Weekdays |= d.Nth[1] & d.Nth[2] & d.Nth[3] & d.Nth[4] & d.Nth[5]
	for n := range d.Nth {
		d.Nth[n] &^= d.Weekdays
	}
	switch {
	case !d.AnyDate() && !d.AnyWeekday():
	case !d.Both:
		return Days{Dates: dateField.all(), Weekdays: weekdayField.all(), Both: true}
	case d.AnyDate():
		d.Last, d.Nearest = 0, 0
	}
	return d
}

// in returns the days that match in a month of so many days, whose first day is that weekday.
func (d *Days) in(first time.Weekday, length int) Set {
	month := span(1, length)
	byDate, byWeekday := d.Dates&month, month
	for _, n := range d.Last.Values() {
		byDate |= 1 << max(length-n, 0) // 0 is no day
	}
	for _, day := range d.Nearest.Values() {
		if day <= length {
			byDate |= 1 << nearest(day, first, length)
		}
	}
	if !d.AnyWeekday() {
		byWeekday = d.byWeekday(first, month)
	}
	if d.Both {
		return byDate & byWeekday
	}
	return byDate | byWeekday
}

// nearest returns the day from Monday to Friday that is nearest to a day of a month, or to its last day if that is 0.
func nearest(day int, first time.Weekday, length int) int {
	if day == 0 {
		day = length
	}
	switch weekday := weekdayAfter(first, day-1); {
	case weekday == time.Saturday && day == 1:
		return 3
	case weekday == time.Saturday:
		return day - 1
	case weekday == time.Sunday && day == length:
		return day - 2
	case weekday == time.Sunday:
		return day + 1
	}
	return day
}

func (d *Days) byWeekday(first time.Weekday, month Set) (days Set) {
	const weekly = 1<<0 | 1<<7 | 1<<14 | 1<<21 | 1<<28
	for w := range 7 {
		day := 1 + (w-int(first)+7)%7 // the first one of the month
		all := weekly << day & month
		if d.Weekdays.Has(w) {
			days |= all
		}
		for n := 1; n < len(d.Nth); n++ {
			if d.Nth[n].Has(w) {
				days |= 1 << (day + 7*(n-1)) & month
			}
		}
		if d.Nth[0].Has(w) {
			days |= all &^ (all >> 7)
		}
	}
	return days
}

// weekdayAfter returns the weekday that is so many days after another one, or before it.
func weekdayAfter(w time.Weekday, days int) time.Weekday { return (w + time.Weekday(days%7) + 7) % 7 }
