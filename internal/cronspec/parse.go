package cronspec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for machines without a zone database

	"github.com/robfig/cron/v3"
)

const maxSpec = 256 // bytes

// parser is robfig's. Specs that it misreads silently or panics on are refused before they reach it.
var parser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month |
	cron.Dow | cron.Descriptor)

// Schedule has the ticks of a spec, which are whole seconds.
type Schedule interface {
	// Next returns the first tick after an instant, in UTC, or the zero time if there is none.
	Next(after time.Time) time.Time
	// Count returns the number of ticks after one instant and up to a later one.
	Count(after, upTo time.Time) int
	// Reading returns what the clock of the zone shows at an instant, as a time in UTC. It stands still while the clock repeats local
	// times. It is the zero time if the ticks do not follow that clock.
	Reading(at time.Time) time.Time
	// Plan returns the normalized form of spec and zone.
	Plan() string
}

// Parse reads a spec of at most 256 bytes. loc is the zone of a spec that names none; nil is UTC. An error names every bad field with
// the rule that it breaks.
func Parse(spec string, loc *time.Location) (Schedule, error) {
	if len(spec) > maxSpec {
		return nil, fmt.Errorf("%d bytes long, at most %d are allowed", len(spec), maxSpec)
	}
	return parse(spec, loc)
}

// parse is Parse for a plan too, which may be longer than a spec.
func parse(spec string, loc *time.Location) (Schedule, error) {
	words := strings.Fields(spec)
	if len(words) == 0 {
		return nil, errors.New("empty")
	}
	zone := ""
	if name, ok := zoneName(words[0]); ok {
		var err error
		zone = words[0] + " "
		if loc, err = loadZone(name); err != nil {
			return nil, err
		}
		if words = words[1:]; len(words) == 0 {
			return nil, errors.New("nothing follows the zone")
		}
	}
	if loc == nil || isUTC(loc) {
		loc = time.UTC
	}

	switch {
	case words[0] == "@every":
		return parseEvery(words[1:])
	case words[0] == "@at":
		return parseOnce(words[1:], loc)
	case words[0][0] == '@':
		return parseDescriptor(words, loc)
	case len(words) == 5 || len(words) == 6:
		return parseFields(zone, words, loc)
	}
	return nil, fmt.Errorf("want 5 fields (minute, hour, day of month, month, day of week) or 6 (second in front), got %d", len(words))
}

// parseDescriptor reads a spec such as @daily.
func parseDescriptor(words []string, loc *time.Location) (Schedule, error) {
	spec, err := ask(parser, strings.Join(words, " "))
	if err != nil {
		return nil, err
	}
	var sets [len(layout)]Set
	for i, f := range layout {
		sets[i] = Set(f.of(spec) &^ star)
	}
	return newCalendar(sets, Days{Dates: sets[3], Weekdays: sets[5], Both: true}, true, loc)
}

// parseFields reads the five or six fields of a spec. zone is what stands before them.
func parseFields(zone string, words []string, loc *time.Location) (Schedule, error) {
	all := words
	if len(words) == 5 {
		all = slices.Insert(slices.Clone(words), 0, "0")
	}
	var days Days
	weekdays, both := strings.CutPrefix(all[5], "+")
	var sets [len(layout)]Set
	var stars [len(layout)]bool
	var problems []error
	for i, text := range []string{all[0], all[1], all[2], all[3], all[4], weekdays} {
		f := layout[i]
		items, err := days.take(f, strings.Split(text, ","))
		if err == nil {
			sets[i], stars[i], err = f.read(items)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f.name, err))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}

	days.Dates, days.Weekdays = sets[3], sets[5]
	days.Both = both || stars[3] || stars[5]
	if begin := isStar(all[3]) || isStar(all[5]); !both && begin != days.Both && !(days.AnyDate() && days.AnyWeekday()) {
		return nil, ambiguous(zone, words)
	}
	plain := !strings.ContainsAny(strings.Join(all[:3], ""), "*?-/")
	return newCalendar(sets, days, plain, loc)
}

// isStar reports whether a field begins as a *. In the crontabs of Vixie cron and cronie, it is one then, with any step.
func isStar(text string) bool { return strings.HasPrefix(text, "*") || strings.HasPrefix(text, "?") }

// ambiguous returns an error with the two specs that say what a spec may mean.
func ambiguous(zone string, words []string) error {
	either := slices.Clone(words)
	dates, weekdays := &either[len(words)-3], &either[len(words)-1]
	*dates, *weekdays = dateField.spelledOut(*dates), weekdayField.spelledOut(*weekdays)
	one := zone + strings.Join(either, " ")
	*weekdays = "+" + *weekdays
	both := zone + strings.Join(either, " ")
	return fmt.Errorf("crontabs read the day of month %s beside the day of week %s in two ways: write %q for days that match both, "+
		"or %q for days that match one of them", words[len(words)-3], words[len(words)-1], both, one)
}

// spelledOut returns a field's text with the range of all values for each *.
func (f field) spelledOut(text string) string {
	return strings.NewReplacer("*", fmt.Sprintf("%d-%d", f.min, f.last()), "?", fmt.Sprintf("%d-%d", f.min, f.last())).Replace(text)
}

// CheckZone returns an error unless every replica can load the zone by its name.
func CheckZone(loc *time.Location) error {
	_, err := loadZone(zoneOf(loc))
	return err
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
