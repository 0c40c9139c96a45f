package cronspec

import (
	"errors"
	"fmt"
	"time"
)

// Every is an interval in seconds. It ticks at its multiples since the Unix epoch. Ticks counted from the start of a process
// would differ on each replica and change with each restart.
type Every int64

func parseEvery(args []string) (Schedule, error) {
	if len(args) != 1 {
		return nil, errors.New("@every wants one duration, as in @every 1h30m")
	}
	d, err := time.ParseDuration(args[0])
	switch {
	case err != nil:
		return nil, fmt.Errorf("@every: %w", err)
	case d < time.Second:
		return nil, fmt.Errorf("@every %s is less than 1s", args[0])
	case d%time.Second != 0:
		return nil, fmt.Errorf("@every %s is not in whole seconds", args[0])
	}
	return Every(d / time.Second), nil
}

// Next returns the first tick after the given instant, in UTC.
func (e Every) Next(after time.Time) time.Time {
	return time.Unix((e.since(after)+1)*int64(e), 0).UTC()
}

// Count returns the number of ticks after one instant and up to another.
func (e Every) Count(after, upTo time.Time) int { return int(e.since(upTo) - e.since(after)) }

// Reading returns the zero time: no zone has a part in the ticks.
func (Every) Reading(time.Time) time.Time { return time.Time{} }

// since returns how many intervals have passed since the Unix epoch.
func (e Every) since(t time.Time) int64 {
	n := t.Unix() / int64(e)
	if t.Unix()%int64(e) < 0 { // before the epoch
		n--
	}
	return n
}

// Plan returns the normalized form of the interval.
func (e Every) Plan() string {
	return planOf(time.UTC, "@every "+(time.Duration(e)*time.Second).String())
}
