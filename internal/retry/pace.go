package retry

import "time"

// Pace limits the rate of events that others cause: Burst at once, then one per Every. Its methods must be called by
// one goroutine at a time.
type Pace struct {
	Burst int
	Every time.Duration
	last  time.Time
}

// Next counts one more event and returns how long to wait before it.
func (p *Pace) Next(now time.Time) time.Duration {
	p.start(now)
	p.last = p.last.Add(p.Every)
	return max(p.last.Sub(now), 0)
}

// Allow reports whether the next event may happen immediately, and counts it only then.
func (p *Pace) Allow(now time.Time) bool {
	p.start(now)
	if p.last.Add(p.Every).After(now) {
		return false
	}
	p.last = p.last.Add(p.Every)
	return true
}

// Wait returns how long to wait before the next event, without counting it.
func (p *Pace) Wait(now time.Time) time.Duration {
	p.start(now)
	return max(p.last.Add(p.Every).Sub(now), 0)
}

// Spend counts an event that has happened, even if it was too early. The next event waits for Every at most.
func (p *Pace) Spend(now time.Time) {
	p.start(now)
	if p.last = p.last.Add(p.Every); p.last.After(now) {
		p.last = now
	}
}

func (p *Pace) start(now time.Time) {
	if idle := now.Add(-time.Duration(p.Burst) * p.Every); p.last.Before(idle) {
		p.last = idle
	}
}
