package cronspec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"
)

// layout has the fields of a spec in order.
var layout = [...]field{
	{"second", cron.Second, func(s *cron.SpecSchedule) uint64 { return s.Second }, 60, 0, 59, ""},
	{"minute", cron.Minute, func(s *cron.SpecSchedule) uint64 { return s.Minute }, 60, 0, 59, ""},
	{"hour", cron.Hour, func(s *cron.SpecSchedule) uint64 { return s.Hour }, 24, 0, 23, ""},
	dateField,
	{"month", cron.Month, func(s *cron.SpecSchedule) uint64 { return s.Month }, 12, 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
	weekdayField,
}

var (
	dateField    = field{"day of month", cron.Dom, func(s *cron.SpecSchedule) uint64 { return s.Dom }, 31, 1, 31, ""}
	weekdayField = field{"day of week", cron.Dow, func(s *cron.SpecSchedule) uint64 { return s.Dow }, 7, 0, 7, "sun mon tue wed thu fri sat"}
)

type field struct {
	name     string
	option   cron.ParseOption
	of       func(*cron.SpecSchedule) uint64 // the field's set
	size     int                             // number of different values
	min, max int
	names    string // names of the values, from min on
}

const star = 1 << 63 // robfig's mark in the set of a field that was *, ?, or either of them with /1

var (
	itemShape = regexp.MustCompile(`^(?:[*?]|([0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?)(?:/([0-9]+))?$`)
	dayWords  = regexp.MustCompile(`^(?i:L(-[0-9]+)?|(L(-[0-9]+)?|[0-9]+)W|([0-9]+|[a-z]{3})(L|#[0-9]+)|[0-9]+-[0-9]+[LW])$`)
)

// all returns the set of all values.
func (f field) all() Set { return span(f.min, f.last()) }

// last returns the largest value. Sunday is 0 in a set.
func (f field) last() int { return f.min + f.size - 1 }

// read returns the values of a field's items, of which there may be none. isStar reports that robfig's parser takes the field for a *.
func (f field) read(items []string) (values Set, isStar bool, err error) {
	if len(items) == 0 {
		return 0, false, nil
	}
	if slices.Contains(items, "") {
		return 0, false, fmt.Errorf("%q has an empty item in its list", strings.Join(items, ","))
	}
	checked := make([]string, len(items))
	for i, item := range items {
		if checked[i], err = f.check(item); err != nil {
			return 0, false, err
		}
	}
	spec, err := ask(cron.NewParser(f.option), strings.Join(checked, ","))
	if err != nil {
		return 0, false, err
	}
	set := f.of(spec)
	return Set(set &^ star), set&star != 0, nil
}

// check returns an item in the form that robfig's parser takes, or an error with the rule that it breaks.
func (f field) check(item string) (string, error) {
	if dayWords.MatchString(item) {
		return "", fmt.Errorf("%q is not one of its values: L, L-3, LW and 15W are days of the month, and 5L and 5#2 are days of the week", item)
	}
	m := itemShape.FindStringSubmatch(item)
	if m == nil {
		return "", fmt.Errorf("%q is not *, ?, a value or a range, with an optional /step", item)
	}
	for _, value := range m[1:3] {
		if value == "" {
			continue
		}
		if _, err := f.value(value); err != nil {
			return "", err
		}
	}
	if step := m[3]; step != "" {
		if n, err := strconv.Atoi(step); err != nil || n < 1 || n > f.size {
			return "", fmt.Errorf("step of %q must be from 1 to %d", item, f.size)
		}
	}
	if f.option == cron.Dow {
		return foldSunday(item), nil
	}
	return item, nil
}

// value returns a value that is a number or a name, or an error with the rule that it breaks.
func (f field) value(text string) (int, error) {
	if i := slices.Index(strings.Fields(f.names), strings.ToLower(text)); i >= 0 {
		return f.min + i, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n >= f.min && n <= f.max:
		return n, nil
	case err == nil || strings.Trim(text, "0123456789") == "":
		return 0, fmt.Errorf("%s must be from %d to %d", text, f.min, f.max)
	case f.names == "":
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, f.min, f.max)
	default:
		return 0, fmt.Errorf("%q is neither a number from %d to %d nor one of %s", text, f.min, f.max, f.names)
	}
}

var toSunday = regexp.MustCompile(`^([0-6])-7(?:/([0-9]+))?$`)

// foldSunday replaces Sunday's 7, alone or as the end of a range, by the 0 that robfig's parser knows: 5-7 becomes 5,6,0.
func foldSunday(part string) string {
	if part == "7" {
		return "0"
	}
	m := toSunday.FindStringSubmatch(part)
	if m == nil {
		return part
	}

	first, _ := strconv.Atoi(m[1])
	step := 1
	if m[2] != "" {
		step, _ = strconv.Atoi(m[2])
	}
	var days []string
	for day := first; day <= 7; day += step {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ",")
}

// ask parses text with robfig's parser. The checks before exclude its known panics. The recover is for unknown ones, because
// a spec may come from a user of the program.
func ask(p cron.Parser, text string) (spec *cron.SpecSchedule, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the parser panicked: %v", v)
		}
	}()
	schedule, err := p.Parse(text)
	if err != nil {
		return nil, err
	}
	return schedule.(*cron.SpecSchedule), nil
}
