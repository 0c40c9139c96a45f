package scheduler

import "time"

// Preview returns the next n ticks of spec after from, in UTC. It returns fewer if the calendar ends. loc is the zone of a spec
// that names none; nil is UTC. With n = 0 it only validates the spec. The errors are those of [Parse].
func Preview(spec string, loc *time.Location, from time.Time, n int) ([]time.Time, error) {
	schedule, err := Parse(spec, loc)
	if err != nil {
		return nil, err
	}

	var ticks []time.Time
	tick := from
	for range n {
		if tick = schedule.Next(tick); tick.IsZero() {
			break
		}
		ticks = append(ticks, tick)
	}
	return ticks, nil
}
