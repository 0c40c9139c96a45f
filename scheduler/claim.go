package scheduler

import (
	crand "crypto/rand"
	"maps"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// kind is what a slot is asked for as. One of each may be without an answer at a time.
type kind int

const (
	aTick kind = iota
	byHand
	takeOver
	kinds
)

// claim is a slot that the leader asks for.
type claim struct {
	entry  *entry
	kind   kind
	slot   register.Slot
	record register.Record
	before register.Record // that it takes over
	late   bool            // the run will be one of catching up
	why    string          // ticks are left out before it; or it is not run itself
	left   asking          // that was asked for and is left out; the zero value: none
	gone   int             // ticks of the entry's that it tells of
}

// step asks for what is due, and returns how long there is nothing to do.
func (l *loop) step(now time.Time) (pause time.Duration) {
	if l.isAsking() {
		return maxLook // ask rouses the loop
	}
	claims, lost, more, pause := l.due(now)
	l.ends.hold(more)

	for _, c := range lost {
		l.work.Go(func() { l.settleLost(c) }) // bounded by patience; lead waits for it
	}
	for _, c := range claims {
		if c.left != (asking{}) {
			l.work.Go(func() { l.settleLeft(c) }) // the same
		}
	}
	if len(claims) > 0 {
		l.work.Go(func() { l.ask(claims) }) // bounded by the node timeout; lead waits for it
	}
	return pause
}

func (l *loop) isAsking() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asking
}

// due decides what to ask for, what is lost, whether more is due, and how long there is nothing to do. A schedule that panics
// does so here.
func (l *loop) due(now time.Time) (claims, lost []claim, more bool, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.agenda) > 0 && !l.agenda[0].at.After(now) && len(claims) < register.MaxClaims {
		e := l.agenda[0]
		c, ok := l.decideLocked(e, now)
		switch {
		case ok && c.record.Ended() && c.record.State == register.Lost:
			lost = append(lost, c)
		case ok:
			e.busy = true
			e.lane.claims++
			claims = append(claims, c)
		}
		l.agenda.put(e)
	}
	l.asking = len(claims) > 0
	more = len(claims) == register.MaxClaims && len(l.agenda) > 0 && !l.agenda[0].at.After(now)
	pause = maxLook
	if !l.asking && len(l.agenda) > 0 {
		pause = max(l.agenda[0].at.Sub(now), 0)
	}
	return claims, lost, more, pause
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
		e.lane.foreign = true
		if !e.job.AtLeastOnce {
			e.open = e.open[1:]
			c.before = before
			return c.lost(), true
		}
		c.kind, c.slot, c.late, c.record.Attempt, c.before = takeOver, before.Slot, true, before.Attempt+1, before
	case e.triggered():
		c.kind, c.slot = byHand, register.Slot{At: e.state.Trigger.At(), Manual: true}
	default:
		d, ok := e.job.CatchUp.next(e.job.schedule, e.floor, e.past, now)
		if ok && e.job.start(d.tick).After(now) {
			d, ok = e.job.CatchUp.next(e.job.schedule, e.floor, e.past, d.tick.Add(-time.Nanosecond))
		}
		if !ok {
			return c, false
		}
		c.slot, c.late = register.Slot{At: d.tick}, d.caughtUp
		c.record.Jumped, c.record.From, c.gone = d.jumped, d.from, e.gone.n
		if c.gone > 0 {
			c.record.Jumped, c.record.From = d.jumped+c.gone, e.gone.from
		}
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
			asked := e.asked[c.kind]
			if c.late || asked.slot == c.slot && !asked.skipped { // it is caught up with when that run has returned
				e.queued = true
				return c, false
			}
			c.record.State, c.record.End = register.Skipped, now
			c.record.Err = errOverlap.Error()
		case Replace:
			if c.kind == takeOver { // what runs is of a newer tick
				e.queued = true
				return c, false
			}
			e.lane.replaced = true
			for _, r := range e.lane.runs {
				r.cancel(ErrReplaced)
			}
			return c, false
		case Queue, Allow:
		}
	}
	if c.kind == takeOver {
		e.open = e.open[1:]
	}
	c.record.CaughtUp = c.late
	asked := &e.asked[c.kind]
	if asked.slot != c.slot {
		c.left, *asked = *asked, asking{slot: c.slot, run: crand.Text()}
	}
	if asked.skipped && c.record.State == register.Claimed {
		c.record.State, c.record.End, c.record.Err = register.Skipped, now, errOverlap.Error()
	}
	asked.skipped = c.record.State == register.Skipped
	if asked.since.IsZero() {
		asked.since = now
	}
	c.record.Slot, c.record.Run = c.slot, asked.run
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
	if slices.ContainsFunc(outcomes, func(o register.Outcome) bool { return o.Forgot }) {
		l.mu.Lock()
		l.forgetLocked()
		l.mu.Unlock()
	}
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
	e.lane.claims--
	var run *active
	var settle func() // what is to be written of the claim, or of the run that it was to take over
	switch {
	case o.Won:
		l.wonLocked(c, missed)
		if c.record.State == register.Claimed {
			run = l.startLocked(c)
		}
	case o.Taken && o.By.Run == "" && c.kind == aTick: // by nobody
		e.lose(c.slot.At)
		l.settleLocked(c)
	case o.Taken && o.By.Run == "" && c.kind == byHand:
		l.settleLocked(c)
		settle = func() { l.settleGivenUp(c) }
	case o.Taken && o.By.Run == "": // nodes were only told of the run, and let nobody take it over
		l.settleLocked(c)
		settle = func() { l.settleLost(c.lost()) }
	case o.Taken:
		l.settleLocked(c)
		switch mayBeLost := !o.By.Ended() && o.By.Token < l.term.Token(); {
		case mayBeLost && o.By.Attempt >= c.record.Attempt:
			e.meet(o.By)
		case c.kind == takeOver && mayBeLost: // nobody can take it over any more
			settle = func() { l.settleLost(c.lost()) }
		case c.kind == takeOver && o.By.Ended():
			settle = func() { l.settleEnded(c, o.By) }
		}
	case o.Paused.Version > e.state.Pause.Version:
		e.set(o.Paused, e.state.Trigger)
	default:
		e.failures++
		switch given := l.giveUpLocked(c, o.Past); {
		case given && c.kind == takeOver:
			settle = func() { l.settleLost(c.lost()) }
		case given:
			settle = func() { l.settleGivenUp(c) }
		}
	}
	undecided := !o.Won && !o.Taken && settle == nil
	if undecided && c.kind == takeOver {
		e.open = append([]register.Record{c.before}, e.open...) // it is to be taken over yet
	}
	if o.Unknown {
		e.known, l.unsure = false, true
	}
	pause := time.Duration(0)
	if undecided && e.known {
		pause = again.After(max(e.failures, 1))
		e.busy = true // until it is tried again
	}
	if l.entries[e.job.Name] == e {
		l.agenda.put(e)
	}
	l.mu.Unlock()

	switch {
	case settle != nil:
		l.work.Go(settle) // bounded by patience; lead waits for it
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
	e.gone.n -= c.gone
	l.settleLocked(c)
}

// settleLocked notes that a slot has been decided, by us or by others.
func (l *loop) settleLocked(c claim) {
	e := c.entry
	e.asked[c.kind], e.waited = asking{}, false
	if c.slot.Manual {
		e.state.Manual = later(e.state.Manual, c.slot.At)
	} else {
		e.settle(c.slot.At)
	}
}
