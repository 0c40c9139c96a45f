package scheduler

import (
	crand "crypto/rand"
	"errors"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/register"
)

// claim is a slot that the leader asks for.
type claim struct {
	entry  *entry
	slot   register.Slot
	record register.Record
	before register.Record // that it takes over
	late   bool            // the run will be one of catching up
	why    string          // ticks are left out before it; or it is not run itself
}

// step asks for what is due, and returns how long there is nothing to do.
func (l *loop) step(now time.Time) (pause time.Duration) {
	l.mu.Lock()
	if l.asking {
		l.mu.Unlock()
		return maxLook // ask rouses the loop
	}
	var claims []claim
	var lost []claim
	for len(l.agenda) > 0 && !l.agenda[0].at.After(now) && len(claims) < register.MaxClaims {
		e := l.agenda[0]
		c, ok := l.decideLocked(e, now)
		switch {
		case ok && c.record.Ended() && c.record.State == register.Lost:
			lost = append(lost, c)
		case ok:
			e.busy = true
			claims = append(claims, c)
		}
		l.agenda.put(e)
	}
	l.asking = len(claims) > 0
	pause = maxLook
	if !l.asking && len(l.agenda) > 0 {
		pause = max(l.agenda[0].at.Sub(now), 0)
	}
	l.mu.Unlock()

	for _, c := range lost {
		l.work.Go(func() { l.settleLost(c) }) // bounded by patience; lead waits for it
	}
	if len(claims) > 0 {
		l.work.Go(func() { l.ask(claims) }) // bounded by the node timeout; lead waits for it
	}
	return pause
}

// decideLocked is what to ask for next of a job for which something is due.
func (l *loop) decideLocked(e *entry, now time.Time) (claim, bool) {
	now = now.Add(e.early())
	c := claim{entry: e}
	c.record = register.Record{
		Attempt: 1, Token: l.term.Token(), State: register.Claimed,
		Details: register.Details{By: l.s.elector.Identity(), Start: now},
	}
	switch {
	case len(e.open) > 0:
		before := e.open[0]
		e.open = e.open[1:]
		e.lane.foreign = true
		if !e.job.AtLeastOnce {
			c.record = before
			c.record.State, c.record.End, c.record.Err = register.Lost, now, errLostRun.Error()
			return c, true
		}
		c.slot, c.late, c.record.Attempt, c.before = before.Slot, true, before.Attempt+1, before
	case e.triggered():
		c.slot = register.Slot{At: e.state.Trigger.At(), Manual: true}
	default:
		d, ok := e.job.CatchUp.next(e.job.schedule, e.floor, now)
		if ok && e.job.start(d.tick).After(now) {
			d, ok = e.job.CatchUp.next(e.job.schedule, e.floor, d.tick.Add(-time.Nanosecond))
		}
		if !ok {
			return c, false
		}
		c.slot, c.late = register.Slot{At: d.tick}, d.caughtUp
		c.record.Jumped, c.record.From = d.jumped, d.from
		c.why = "it came while nobody could claim it"
		if e.waited {
			c.why = "a newer tick has taken its place"
		}
		if !d.run {
			c.record.State, c.record.End, c.record.Err = register.Missed, now, c.why
		}
	}
	if c.record.State == register.Claimed && len(e.lane.runs) > 0 {
		switch e.job.Overlap {
		case Skip:
			if c.late { // it is caught up with when that run has returned
				e.queued = true
				return c, false
			}
			c.record.State, c.record.End = register.Skipped, now
			c.record.Err = errOverlap.Error()
		case Replace:
			e.lane.replaced = true
			for _, r := range e.lane.runs {
				r.cancel(ErrReplaced)
			}
			return c, false
		case Queue, Allow:
		}
	}
	c.record.CaughtUp = c.late
	if e.asked != c.slot {
		e.asked, e.run = c.slot, crand.Text()
	}
	c.record.Slot, c.record.Run = c.slot, e.run
	return c, true
}

// ask asks the nodes for the slots, and does with each what its answer says.
func (l *loop) ask(claims []claim) {
	asked := make([]register.Claim, len(claims))
	l.mu.Lock()
	for i, c := range claims {
		missed := c.entry.state.Missed + c.record.Jumped
		if c.record.State == register.Missed {
			missed++
		}
		asked[i] = register.Claim{
			Job: c.entry.job.Name, Record: c.record, Pause: c.entry.state.Pause, Missed: missed,
		}
	}
	promises := maps.Clone(l.promises)
	l.mu.Unlock()
	outcomes := l.s.register.Claim(l.term.Context(), l.term.Token(), promises, asked)
	var fenced uint64
	for i, o := range outcomes {
		fenced = max(fenced, l.decided(claims[i], asked[i].Missed, o))
	}
	if fenced > 0 {
		l.fenced(fenced) // once, however many claims say so
	}
	l.mu.Lock()
	l.asking = false
	l.mu.Unlock()
	l.rouse()
}

// decided does what the outcome of a claim asks for, but for the token that has fenced it: that is returned.
func (l *loop) decided(c claim, missed int, o register.Outcome) (fenced uint64) {
	e := c.entry
	l.mu.Lock()
	e.busy = false
	var run *active
	var lost *claim
	switch {
	case o.Won:
		l.wonLocked(c, missed)
		if c.record.State == register.Claimed {
			run = l.startLocked(c)
		}
	case o.Taken:
		l.settleLocked(c)
		switch mayBeLost := !o.By.Ended() && o.By.Token < l.term.Token(); {
		case o.By.Run != "" && mayBeLost && o.By.Attempt >= c.record.Attempt:
			e.open = append(e.open, o.By)
		case c.record.Attempt > 1 && mayBeLost: // nobody can take it over any more
			lost = &c
			lost.record = c.before
			lost.record.State, lost.record.End, lost.record.Err = register.Lost, c.record.Start, errLostRun.Error()
		}
	case o.Paused.Version > e.state.Pause.Version:
		e.set(o.Paused, e.state.Trigger)
	default:
		e.failures++
	}
	if !o.Won && !o.Taken && c.record.Attempt > 1 {
		e.open = append([]register.Record{c.before}, e.open...) // it is to be taken over yet
	}
	if o.Unknown {
		l.forgetLocked()
	}
	pause := time.Duration(0)
	if !o.Won && !o.Taken && e.known {
		pause = again.After(max(e.failures, 1))
		e.busy = true // until it is tried again
	}
	if l.entries[e.job.Name] == e {
		l.agenda.put(e)
	}
	l.mu.Unlock()

	switch {
	case lost != nil:
		l.settleLost(*lost)
	case o.Won && run == nil:
		l.notRun(c)
	case o.Won:
		l.tellJumped(c)
	case o.Fenced > 0:
		return o.Fenced
	case pause > 0:
		l.logUnclaimed(c, o.Err)
		l.s.hooks.unclaimed(e.job.Name, c.slot.At, o.Err)
		l.work.Go(func() { l.after(pause, e) }) // bounded by pause; lead waits for it
	}
	return 0
}

// wonLocked notes that a slot is ours.
func (l *loop) wonLocked(c claim, missed int) {
	e := c.entry
	e.failures = 0
	e.state.Missed = missed
	l.settleLocked(c)
}

// settleLocked notes that a slot has been decided, by us or by others.
func (l *loop) settleLocked(c claim) {
	e := c.entry
	e.asked, e.waited = register.Slot{}, false
	if c.slot.Manual {
		e.state.Manual = later(e.state.Manual, c.slot.At)
	} else {
		e.settle(c.slot.At)
	}
}

// after has an entry on the agenda again after a pause.
func (l *loop) after(pause time.Duration, e *entry) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.draining.Done():
		return
	}
	l.mu.Lock()
	e.busy = false
	if l.entries[e.job.Name] == e {
		l.agenda.put(e)
	}
	l.mu.Unlock()
	l.rouse()
}

// settleLost writes that the end of an earlier leader's run is not known.
func (l *loop) settleLost(c claim) {
	job := c.entry.job.Name
	err := l.finish(job, c.record, false)
	l.log.Error("the run of an earlier leader is lost: its end is not known",
		zap.String("job", job), zap.Time("tick", c.record.Slot.At), zap.String("replica", c.record.By),
		zap.NamedError("written", err))
	l.s.hooks.finished(recordOf(job, c.record))
}

// notRun tells of a tick that was claimed in order not to be run.
func (l *loop) notRun(c claim) {
	l.tellJumped(c)
	job := c.entry.job.Name
	l.log.Info("tick not run", zap.String("job", job), zap.Time("tick", c.slot.At),
		zap.String("reason", c.record.Err))
	if c.record.State == register.Missed {
		l.s.hooks.missed(job, 1, c.record.Err)
		return
	}
	l.s.hooks.finished(recordOf(job, c.record))
}

// tellJumped tells of the ticks that a claim leaves out.
func (l *loop) tellJumped(c claim) {
	if c.record.Jumped == 0 {
		return
	}
	job := c.entry.job.Name
	l.log.Warn("ticks are not made up for", zap.String("job", job), zap.Int("ticks", c.record.Jumped),
		zap.Time("from", c.record.From), zap.Time("before", c.slot.At), zap.String("reason", c.why))
	l.s.hooks.missed(job, c.record.Jumped, c.why)
}

var (
	errLostRun = errors.New("its process was gone when another one led")
	errOverlap = errors.New("a run is under way")
)
