package cronspec

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Once is the schedule of a single instant.
type Once struct {
	Local time.Time // what the zone's clock shows then, as a time in UTC
	at    time.Time
	clock clock
}

const localTime = "2006-01-02T15:04:05"

// parseOnce reads an instant, or a time of the zone's clock. A time that the clock jumps over means the first instant after the jump,
// and one that it shows twice means the first of the two.
func parseOnce(args []string, zone *time.Location) (Schedule, error) {
	const want = "@at wants one time, as in @at 2026-12-01T09:00:00Z, or without the Z for the time of a zone's clock"
	if len(args) != 1 {
		return nil, errors.New(want)
	}
	layout := localTime
	if _, clock, _ := strings.Cut(args[0], "T"); strings.ContainsAny(clock, "Z+-") {
		layout, zone = time.RFC3339, time.UTC
	}
	local, err := time.Parse(layout, args[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", want, err)
	}
	local = local.UTC()
	if local.Nanosecond() != 0 {
		return nil, fmt.Errorf("@at %s is not in whole seconds", args[0])
	}
	o := Once{Local: local, clock: clock{zone: zone}}
	before := local.Add(-48 * time.Hour) // no zone is that far off UTC
	o.at = o.clock.next(before, func(from time.Time) time.Time {
		if from.After(local) {
			return time.Time{}
		}
		return local
	})
	if o.at.Year() < 1970 || o.at.Year() > 9999 {
		return nil, fmt.Errorf("@at %s is not in the years from 1970 to 9999", args[0])
	}
	return o, nil
}

// Next returns the instant if it comes after another one, and otherwise the zero time.
func (o Once) Next(after time.Time) time.Time {
	if o.at.After(after) {
		return o.at
	}
	return time.Time{}
}

// Count returns 1 if the instant is after one instant and not after another, and otherwise 0.
func (o Once) Count(after, upTo time.Time) int {
	if o.at.After(after) && !o.at.After(upTo) {
		return 1
	}
	return 0
}

// Reading returns what the zone's clock shows at an instant.
func (o Once) Reading(at time.Time) time.Time { return o.clock.reading(at) }

// Plan returns the normalized form of the time and its zone.
func (o Once) Plan() string {
	text := o.Local.Format(localTime)
	if o.clock.zone == time.UTC {
		text += "Z"
	}
	return planOf(o.clock.zone, "@at "+text)
}
