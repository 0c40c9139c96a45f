//go:build !race

package register_test

// usualTicks is how many ticks a plan has.
const usualTicks = 300
