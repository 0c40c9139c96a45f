package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock tells elapsed time with the machine's sleep counted, and has timers that run by it. Its
// methods are safe for concurrent use.
type Clock struct {
	sleep *sleep
	told  atomic.Int64 // nanoseconds of sleep that no clock of the machine showed
	step  atomic.Int64 // nanoseconds by which a test has set the wall clock

	mu    sync.Mutex // guards the fields below and those of every Timer; taken before sleep's own
	armed map[*Timer]struct{}
	seen  time.Duration // every armed timer allows for at least this much sleep
	look  *time.Timer   // runs while a timer is armed; made for the first one
}

// New starts a clock that shows the present time.
func New() *Clock { return newClock(machinePair()) }

func newClock(read pair) *Clock {
	return &Clock{sleep: newSleep(read), armed: make(map[*Timer]struct{})}
}

// Now is an instant of this clock: [time.Now], with its monotonic reading, plus the time slept
// since New. Compare it only with instants of the same clock; what it prints is ahead by Slept.
func (c *Clock) Now() time.Time {
	// The result lies between the instants at which Now was called and returned, so it is fit both
	// to begin a validity and to check one. In this order, sleep between the two reads is counted:
	// a process that sleeps inside Now wakes up to be told so. The other way round it would be told
	// that nothing had happened.
	now := time.Now()
	return now.Add(c.Slept())
}

// Local is the instant t of this clock as time.Now tells it at present, that is t less the time
// slept: for time.Until, contexts, logs and users. It is out of date after the next sleep.
func (c *Clock) Local(t time.Time) time.Time {
	// Not t.Add(-Slept): the wall clock went on in the sleep, and a t from before it does not know.
	now := time.Now()
	return now.Add(t.Sub(now.Add(c.Slept())))
}

// Slept is the time slept since New. It never decreases.
func (c *Clock) Slept() time.Duration { return c.sleep.sum() + time.Duration(c.told.Load()) }

// Advance counts d more sleep, which the machine's clocks did not show, and at once runs the timers
// that it makes due. It ignores a d that is not positive.
func (c *Clock) Advance(d time.Duration) {
	c.Suspend(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rearmLocked()
}

// Suspend is for tests: as if the machine had just slept for d. As after real sleep, Now shows it
// at once, and the timers with the next look. It ignores a d that is not positive.
func (c *Clock) Suspend(d time.Duration) { c.told.Add(int64(max(d, 0))) }

// Wall is the present by the machine's wall clock, which people and NTP set.
func (c *Clock) Wall() time.Time { return time.Now().Round(0).Add(time.Duration(c.step.Load())) }

// Step is for tests: as if somebody had set the wall clock forward by d, or back.
func (c *Clock) Step(d time.Duration) { c.step.Add(int64(d)) }
