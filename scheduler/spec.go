package scheduler

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the zones, on machines that have none of their own

	"github.com/robfig/cron/v3"
)

// ErrSpec is wrapped by every error about a spec that cannot be read, or that would never fire.
var ErrSpec = errors.New("scheduler: bad spec")

const maxSpec = 256 // bytes

// robfig's parser does the reading. What it takes in silence or panics on is refused before.
var parser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month |
	cron.Dow | cron.Descriptor)

// layout is the fields of a spec in their order; size is how many values one can take.
var layout = [...]field{
	{"second", cron.Second, 60},
	{"minute", cron.Minute, 60},
	{"hour", cron.Hour, 24},
	{"day of month", cron.Dom, 31},
	{"month", cron.Month, 12},
	{"day of week", cron.Dow, 7},
}

type field struct {
	name   string
	option cron.ParseOption
	size   int
}

// Parse reads a cron spec of at most 256 bytes:
//
//	[CRON_TZ=Zone] [second] minute hour day-of-month month day-of-week
//	[CRON_TZ=Zone] @yearly | @annually | @monthly | @weekly | @daily | @midnight | @hourly
//	@every 1h30m
//
// A field is a list of *, ?, values and ranges, each with an optional /step; months and weekdays
// have names, and Sunday is 0 or 7. A spec without seconds fires at second 0. TZ= means CRON_TZ=.
// A day has to match both day fields if one of them is * or ?, and otherwise only one of the two.
//
// loc is the zone of a spec that names none; nil is UTC. The ticks are a function of spec and zone
// alone, the same for every replica, and are returned in UTC:
//
//   - @every d, in whole seconds, fires at the multiples of d since the Unix epoch, in any zone.
//   - Where the zone's clock jumps forward, what it jumped over fires once, at the first instant
//     after the jump.
//   - Where it is set back, a job whose times of day are plain values (no * ? - / in hour, minute
//     and second) fires in the first pass only, any other in both.
//   - A job of every hour follows real time through both: nothing is made up, nothing left out.
//
// An error wraps ErrSpec and names the spec and every bad field with the rule it breaks.
func Parse(spec string, loc *time.Location) (cron.Schedule, error) {
	schedule, _, err := parse(spec, loc)
	if err != nil {
		return nil, fmt.Errorf("%w %.64q: %w", ErrSpec, spec, err)
	}
	return schedule, nil
}

// parse returns the schedule of a spec, and its plan: spec and zone in the one form that all specs of the same meaning share.
func parse(spec string, loc *time.Location) (cron.Schedule, string, error) {
	if len(spec) > maxSpec {
		return nil, "", fmt.Errorf("%d bytes long, at most %d are allowed", len(spec), maxSpec)
	}
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
		schedule, err := newCalendar(words, nil, loc)
		return schedule, planOf(loc, descriptor(words[0])), err
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
	schedule, err := newCalendar(words, words[:len(words)-3], loc)
	return schedule, planOf(loc, canonical(fields, words)...), err
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
		return nil, errors.New("zone: none named after the =")
	case "Local":
		return nil, errors.New("zone: Local is not the same on every replica")
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone: %w", err)
	}
	return loc, nil
}

var partShape = regexp.MustCompile(`^(?:[*?]|[0-9A-Za-z]+(?:-[0-9A-Za-z]+)?)(?:/([0-9]+))?$`)

// check returns the field's text as robfig's parser takes it, or the rule that it breaks.
func (f field) check(text string) (string, error) {
	parts := strings.Split(text, ",")
	for i, p := range parts {
		if p == "" {
			return "", fmt.Errorf("%q has an empty place in its list", text)
		}
		m := partShape.FindStringSubmatch(p)
		if m == nil {
			return "", fmt.Errorf("%q is not *, ?, a value or a range, with an optional /step", p)
		}
		if step := m[1]; step != "" {
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

var toSunday = regexp.MustCompile(`^([0-6])-7(?:/([0-9]+))?$`)

// foldSunday writes the 7 of a list part, alone or as the end of a range, as the 0 that robfig
// knows: 5-7 becomes 5,6,0.
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

// ask lets robfig's parser read text. Its known panics cannot be reached from here; the recover is
// for those nobody has met yet, because a spec may come from a user of the program.
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
