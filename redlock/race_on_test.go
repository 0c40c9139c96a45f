//go:build race

package redlock_test

// usualPlans is few, since the race detector makes each take five times as long; the rest is played
// without it.
const usualPlans = 30
