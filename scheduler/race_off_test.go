//go:build !race

package scheduler_test

// usualTicks is how many ticks a plan has.
const usualTicks = 50
