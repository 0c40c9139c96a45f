package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Drift is the share by which the rates of two clocks may differ. Clocks are far better, even those that are being slewed.
	Drift = 0.01
	// Granularity allows for the error of expiry times, which Redis counts in milliseconds.
	Granularity = 2 * time.Millisecond
)

// Allowance returns how much earlier than its TTL a lease ends for its holder.
func Allowance(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl)*Drift) + Granularity
}

// Clock measures elapsed time including the machine's sleep, and has timers that run by it. Its methods are safe for
// concurrent use.
type Clock struct {
	sleep     *sleep
	simulated atomic.Int64 // nanoseconds of sleep that a test has added
	step      atomic.Int64 // nanoseconds by which a test has set the wall clock

	mu    sync.Mutex // guards the fields below and those of every Timer; taken before sleep's own
	armed map[*Timer]struct{}
	seen  time.Duration // armed timers account for at least this much sleep
	poll  *time.Timer   // runs while a timer is armed; made for the first one
}

// New starts a clock that shows the current time.
func New() *Clock { return newClock(newSleep(machinePair(), wallAhead())) }

func newClock(s *sleep) *Clock {
	return &Clock{sleep: s, armed: make(map[*Timer]struct{})}
}

// Now returns the current instant of this clock: [time.Now], with its monotonic reading, plus the time slept since New.
// Compare it only with instants of the same clock. Printed, it is ahead by Slept.
func (c *Clock) Now() time.Time {
	// The result lies between the instants at which Now was called and returned, so it can both start a validity and
	// check one. In this order, sleep between the two reads is counted: a process that sleeps inside Now learns of it.
	// In the other order, it would not.
	now := time.Now()
	return now.Add(c.Slept())
}

// Local returns the instant t of this clock as time.Now shows it at present, which is t minus the time slept. Use it
// for time.Until, contexts, logs and users. It is outdated after the next sleep.
func (c *Clock) Local(t time.Time) time.Time {
	// Not t.Add(-Slept): the wall clock ran on during the sleep, and a t from before it lacks that.
	now := time.Now()
	return now.Add(t.Sub(now.Add(c.Slept())))
}

// Slept returns the time slept since New. It never decreases.
func (c *Clock) Slept() time.Duration { return c.sleep.sum() + time.Duration(c.simulated.Load()) }

// Suspend simulates, for tests, that the machine has just slept for d. As after real sleep, Now shows it immediately,
// and the timers with the next poll. It ignores a d that is not positive.
func (c *Clock) Suspend(d time.Duration) { c.simulated.Add(int64(max(d, 0))) }

// Wall returns the current time by the machine's wall clock, which people and NTP set.
func (c *Clock) Wall() time.Time { return time.Now().Round(0).Add(time.Duration(c.step.Load())) }

// Step simulates, for tests, that the wall clock was set forward by d, or back.
func (c *Clock) Step(d time.Duration) { c.step.Add(int64(d)) }
