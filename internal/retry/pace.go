package retry

import "time"

// Pace spaces what others cause, and may cause without end: a Burst at once, then one Every so often. Its method is called by one
// goroutine at a time.
type Pace struct {
	Burst int
	Every time.Duration
	last  time.Time
}

// Next returns how long to wait before the next one. It counts on that: whoever does without the next one does not call it.
func (p *Pace) Next(now time.Time) time.Duration {
	p.start(now)
	p.last = p.last.Add(p.Every)
	return max(p.last.Sub(now), 0)
}

// Allow reports whether the next one may come at once, and counts it only then.
func (p *Pace) Allow(now time.Time) bool {
	p.start(now)
	if p.last.Add(p.Every).After(now) {
		return false
	}
	p.last = p.last.Add(p.Every)
	return true
}

// Wait returns how long to wait before the next one, and does not count it.
func (p *Pace) Wait(now time.Time) time.Duration {
	p.start(now)
	return max(p.last.Add(p.Every).Sub(now), 0)
}

// Spend counts one that has come, also where it was too early. The next one waits for Every at most.
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
