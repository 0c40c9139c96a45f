//go:build race

package scheduler_test

// usualTicks is few, since the race detector makes each take five times as long; the rest is played
// without it.
const usualTicks = 10

// zoneStep leaves out all but one of so many changes of zones' clocks.
const zoneStep = 40
