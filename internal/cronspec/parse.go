package cronspec

import (
	"errors"
	"fmt"
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
	if name, ok := zoneName(words[0]); ok {
		var err error
		if loc, err = loadZone(name); err != nil {
			return nil, err
		}
		if words = words[1:]; len(words) == 0 {
			return nil, errors.New("nothing follows the zone")
		}
	}
	if loc == nil {
		loc = time.UTC
	}

	switch {
	case words[0] == "@every":
		return parseEvery(words[1:])
	case words[0][0] == '@':
		return newCalendar(words, nil, loc)
	case len(words) != 5 && len(words) != 6:
		return nil, fmt.Errorf("want 5 fields (minute, hour, day of month, month, day of "+
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
		return nil, errors.Join(problems...)
	}
	return newCalendar(words, words[:len(words)-3], loc)
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
