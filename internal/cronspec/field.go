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
	{"second", cron.Second, 60, 0, 59, ""},
	{"minute", cron.Minute, 60, 0, 59, ""},
	{"hour", cron.Hour, 24, 0, 23, ""},
	{"day of month", cron.Dom, 31, 1, 31, ""},
	{"month", cron.Month, 12, 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
	{"day of week", cron.Dow, 7, 0, 7, "sun mon tue wed thu fri sat"},
}

type field struct {
	name     string
	option   cron.ParseOption
	size     int // number of different values
	min, max int
	names    string // names of the values, from min on
}

var (
	partShape = regexp.MustCompile(`^(?:[*?]|([0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?)(?:/([0-9]+))?$`)
	quartz    = regexp.MustCompile(`^(?i:L(-[0-9]+)?|LW|[0-9]{1,2}[LW]|[a-z]{3}L|[0-9a-z]{1,3}#[0-9])$`)
)

// check returns the field's text in the form that robfig's parser takes, or an error with the rule that the text breaks.
func (f field) check(text string) (string, error) {
	parts := strings.Split(text, ",")
	for i, p := range parts {
		if p == "" {
			return "", fmt.Errorf("%q has an empty item in its list", text)
		}
		if quartz.MatchString(p) {
			return "", fmt.Errorf("%q is not supported: L, W and # are extensions of other schedulers; tick on all possible days, "+
				"as in 28-31, and return from Run at once on the wrong ones", p)
		}
		m := partShape.FindStringSubmatch(p)
		if m == nil {
			return "", fmt.Errorf("%q is not *, ?, a value or a range, with an optional /step", p)
		}
		for _, value := range m[1:3] {
			if err := f.checkValue(value); err != nil {
				return "", err
			}
		}
		if step := m[3]; step != "" {
			if n, err := strconv.Atoi(step); err != nil || n < 1 || n > f.size {
				return "", fmt.Errorf("step of %q must be from 1 to %d", p, f.size)
			}
		}
		if f.option == cron.Dow {
			parts[i] = foldSunday(p)
		}
	}

	text = strings.Join(parts, ",")
	_, err := ask(cron.NewParser(f.option), text)
	return text, err
}

// checkValue returns an error with the rule that a value breaks. An empty text is fine.
func (f field) checkValue(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case text == "" || slices.Contains(strings.Fields(f.names), strings.ToLower(text)):
		return nil
	case err == nil && n >= f.min && n <= f.max:
		return nil
	case err == nil || strings.Trim(text, "0123456789") == "":
		return fmt.Errorf("%s must be from %d to %d", text, f.min, f.max)
	case f.names == "":
		return fmt.Errorf("%q is not a number from %d to %d", text, f.min, f.max)
	default:
		return fmt.Errorf("%q is neither a number from %d to %d nor one of %s", text, f.min, f.max, f.names)
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
