package clock

import "time"

// pollInterval is how often armed timers are checked against the time slept.
const pollInterval = 200 * time.Millisecond

// Timer runs a function at an instant of its clock. Its methods are safe for concurrent use.
//
// It uses a time.Timer, which does not know about sleep and is reset when sleep is detected. A time.Timer that fires
// too early, too late or twice does no harm: under the clock's mutex, the function runs only if the Timer is armed and
// its instant has come.
type Timer struct {
	clock *Clock
	fn    func()

	// guarded by clock.mu
	at    time.Time
	timer *time.Timer // made when it is first armed
}

// AfterFunc runs fn in its own goroutine at the instant at of this clock, or immediately if at has passed.
func (c *Clock) AfterFunc(at time.Time, fn func()) *Timer {
	t := &Timer{clock: c, fn: fn}
	t.Reset(at)
	return t
}

// Stop disarms the timer and reports whether it was armed. If so, fn does not run for that instant. Otherwise fn was
// already started, or the timer was stopped. Stop does not wait for fn to return.
func (t *Timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.disarmLocked()
}

// Reset arms the timer for another instant and reports whether it was armed. If so, fn does not run for the previous
// instant. Otherwise fn may still be running for that when it starts for this one.
func (t *Timer) Reset(at time.Time) bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.armed) == 0 {
		c.schedulePollLocked()
	}
	_, was := c.armed[t]
	c.armed[t] = struct{}{}
	t.at = at
	if left := at.Sub(c.Now()); t.timer == nil {
		t.timer = time.AfterFunc(left, t.fire)
	} else {
		t.timer.Reset(left)
	}
	return was
}

func (t *Timer) disarmLocked() bool {
	c := t.clock
	if _, armed := c.armed[t]; !armed {
		return false
	}
	delete(c.armed, t)
	t.timer.Stop()
	if len(c.armed) == 0 {
		c.poll.Stop()
	}
	return true
}

// fire runs fn if its time has come.
func (t *Timer) fire() {
	if t.take() {
		t.fn()
	}
}

// take disarms the timer if it is due. A timer that is armed but not due was reset while fire was waiting for the
// mutex.
func (t *Timer) take() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if _, armed := t.clock.armed[t]; !armed {
		return false
	}
	if left := t.at.Sub(t.clock.Now()); left > 0 {
		t.timer.Reset(left)
		return false
	}
	return t.disarmLocked()
}

// pollSleep adjusts the timers for sleep, and schedules the next poll.
func (c *Clock) pollSleep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.armed) == 0 {
		return // the last timer was disarmed while pollSleep was waiting for the mutex
	}
	c.sleep.exact()
	if slept := c.Slept(); slept > c.seen {
		c.seen = slept
		now := c.Now() // counts at least as much sleep as seen
		for t := range c.armed {
			t.timer.Reset(t.at.Sub(now))
		}
	}
	c.schedulePollLocked()
}

func (c *Clock) schedulePollLocked() {
	if c.poll == nil {
		c.poll = time.AfterFunc(pollInterval, c.pollSleep)
	} else {
		c.poll.Reset(pollInterval)
	}
}
