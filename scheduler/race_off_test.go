//go:build !race

package scheduler_test

// usualTicks is how many ticks a plan has.
const usualTicks = 50

// zoneStep leaves no change of a zone's clock out.
const zoneStep = 1
