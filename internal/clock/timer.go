package clock

import "time"

// lookEvery is how often armed timers are compared with the time slept.
const lookEvery = 200 * time.Millisecond

// Timer runs a function at an instant of its clock. Its methods are safe for concurrent use.
//
// Below it is a time.Timer, which knows nothing of sleep and is set anew when some was seen. One
// that goes off too early, too late or twice does no harm: whether the function runs is decided
// under the clock's mutex, by whether the Timer is armed and by the instant it is armed for.
type Timer struct {
	clock *Clock
	fn    func()

	// guarded by clock.mu
	at    time.Time
	timer *time.Timer // made when it is first armed
}

// AfterFunc runs fn in a goroutine of its own at the instant at of this clock, or at once if that
// is past.
func (c *Clock) AfterFunc(at time.Time, fn func()) *Timer {
	t := &Timer{clock: c, fn: fn}
	t.Reset(at)
	return t
}

// Stop disarms the timer and tells whether it was armed: then fn does not run for the instant it
// was armed for. Otherwise fn was started before, or the timer was stopped; Stop does not wait for
// fn to return.
func (t *Timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.disarmLocked()
}

// Reset arms the timer for another instant and tells whether it was armed: then fn does not run for
// the previous one. Otherwise fn may still be running for that when it starts for this one.
func (t *Timer) Reset(at time.Time) bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.armed) == 0 {
		c.lookLaterLocked()
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
		c.look.Stop()
	}
	return true
}

// fire runs fn if its time has come.
func (t *Timer) fire() {
	if t.take() {
		t.fn()
	}
}

// take disarms the timer if it is due. One that is armed but not due was reset while fire was
// waiting for the mutex.
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

// lookForSleep makes up for sleep, which the timers below know nothing of, and looks again later.
func (c *Clock) lookForSleep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.armed) == 0 {
		return // the last one was disarmed while this was waiting for the mutex
	}
	c.rearmLocked()
	c.lookLaterLocked()
}

func (c *Clock) lookLaterLocked() {
	if c.look == nil {
		c.look = time.AfterFunc(lookEvery, c.lookForSleep)
	} else {
		c.look.Reset(lookEvery)
	}
}

// rearmLocked sets the timers anew if there was sleep since it last did.
func (c *Clock) rearmLocked() {
	slept := c.Slept()
	if slept <= c.seen {
		return
	}
	c.seen = slept
	now := c.Now() // counts no less sleep than seen
	for t := range c.armed {
		t.timer.Reset(t.at.Sub(now))
	}
}
