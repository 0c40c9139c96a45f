package scheduler

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for machines without a zone database

	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
)

// ErrSpec is wrapped by every error about a spec that cannot be parsed or would never fire.
var ErrSpec = errors.New("scheduler: bad spec")

const maxSpec = 256 // bytes

// parser is robfig's. Specs that it misreads silently or panics on are refused before they reach it.
var parser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month |
	cron.Dow | cron.Descriptor)

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

// Parse reads a cron spec of at most 256 bytes:
//
//	[CRON_TZ=Zone] [second] minute hour day-of-month month day-of-week
//	[CRON_TZ=Zone] @yearly | @annually | @monthly | @weekly | @daily | @midnight | @hourly
//	@every 1h30m
//
// A field is a list of *, ?, values and ranges, each with an optional /step. Months and weekdays have names, and Sunday is
// 0 or 7. A spec without seconds fires at second 0. TZ= means CRON_TZ=. A day has to match both day fields if one of them
// is * or ?, and otherwise only one of the two.
//
// loc is the zone of a spec that names none; nil is UTC. The ticks depend on the spec, the zone and the zone data alone, so they are
// the same on every replica with these data. They are returned in UTC:
//
//   - @every d, in whole seconds, fires at the multiples of d since the Unix epoch, in any zone.
//   - If the zone's clock jumps forward, times that it jumped over fire once, at the first instant after the jump.
//   - If the clock is set back, a spec whose times of day are plain values (no * ? - / in hour, minute and second) fires
//     only the first time that the clock shows them. Any other spec fires both times.
//   - A spec that fires in every hour follows real time through both changes: it adds and omits nothing.
//
// An error wraps ErrSpec and names the spec and every bad field with the rule it breaks.
func Parse(spec string, loc *time.Location) (cron.Schedule, error) {
	schedule, _, err := parse(spec, loc)
	if err != nil {
		return nil, fmt.Errorf("%w %.64q: %w", ErrSpec, spec, err)
	}
	return schedule, nil
}

// parse returns the schedule of a spec, and its plan: the normalized form of spec and zone.
func parse(spec string, loc *time.Location) (jobmachine.Schedule, string, error) {
	if len(spec) > maxSpec {
		return nil, "", fmt.Errorf("%d bytes long, at most %d are allowed", len(spec), maxSpec)
	}
	return parsePlan(spec, loc)
}

// parsePlan is parse for a plan too, which may be longer than a spec.
func parsePlan(spec string, loc *time.Location) (jobmachine.Schedule, string, error) {
	words := strings.Fields(spec)
	if len(words) == 0 {
		return nil, "", errors.New("empty")
	}
	if name, ok := zoneName(words[0]); ok {
		var err error
		if loc, err = loadZone(name); err != nil {
			return nil, "", err
		}
		if words = words[1:]; len(words) == 0 {
			return nil, "", errors.New("nothing follows the zone")
		}
	}
	if loc == nil {
		loc = time.UTC
	}

	switch {
	case words[0] == "@every":
		e, err := parseEvery(words[1:])
		if err != nil {
			return nil, "", err
		}
		return e, planOf(time.UTC, e.String()), nil
	case words[0][0] == '@':
		return newCalendar(words, nil, loc)
	case len(words) != 5 && len(words) != 6:
		return nil, "", fmt.Errorf("want 5 fields (minute, hour, day of month, month, day of "+
			"week) or 6 (second in front), got %d", len(words))
	}

	fields := layout[len(layout)-len(words):]
	var problems []error
	for i, f := range fields {
		var err error
		if words[i], err = f.check(words[i]); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f.name, err))
		}
	}
	if len(problems) > 0 {
		return nil, "", errors.Join(problems...)
	}
	return newCalendar(words, words[:len(words)-3], loc)
}

func zoneName(word string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(word, "CRON_TZ="); ok {
		return name, true
	}
	return strings.CutPrefix(word, "TZ=")
}

func loadZone(name string) (*time.Location, error) {
	switch name {
	case "":
		return nil, errors.New("zone: the name after the = is missing")
	case "Local":
		return nil, errors.New("zone: Local is not the same on every replica")
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone: %w", err)
	}
	return loc, nil
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
