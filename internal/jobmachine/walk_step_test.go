package jobmachine_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// step plays one event: the next due one, or one of a person, a node or a process.
func (w *walk) step() {
	if w.chance(12) {
		w.disturb()
		return
	}
	when, what := w.next()
	if what == nil {
		when, what = w.now.Add(w.upTo(3*w.interval)), w.disturb
	}
	if w.chance(2) { // the process stalls
		when = later(when, w.now).Add(w.upTo(10 * w.interval))
	}
	w.judgeQuiet()
	if when.After(w.now) {
		w.now = when
		if w.chance(30) {
			w.now = w.now.Add(w.upTo(2 * time.Millisecond))
		}
		w.now = w.now.Truncate(time.Microsecond)
		if w.now.Before(when) {
			w.now = w.now.Add(time.Microsecond)
		}
	}
	what()
}

// next returns the next due event, and when.
func (w *walk) next() (when time.Time, what func()) {
	consider := func(t time.Time, do func()) {
		if !t.IsZero() && (what == nil || t.Before(when)) {
			when, what = t, do
		}
	}
	l := &w.leader
	if l.writing != nil {
		consider(l.writing.answer, w.answer)
	}
	for _, r := range l.runs {
		consider(r.ends, func() { w.end(r, false) })
	}
	consider(l.learns, w.learn)
	consider(l.answers, w.learnOfOthers)
	consider(l.prepares, func() { w.prepare(w.read()) })
	if wake, lazy := w.m.Wake(); l.writing == nil {
		consider(wake, w.due)
		if lazy && l.lazy.IsZero() {
			l.lazy = w.now.Add(w.upTo(2 * time.Second))
		}
		if lazy {
			consider(later(l.lazy, l.notBefore), w.due)
		}
	}
	if l.draining {
		if w.m.IsAtRest() && l.writing == nil && w.chance(50) {
			consider(w.now, w.change)
		}
		consider(l.ends, w.change)
	}
	return when, what
}

// learn makes the leader learn of requests.
func (w *walk) learn() {
	l := &w.leader
	l.learns = time.Time{}
	l.pause, l.trigger, l.cancel = newer(l.pause, w.nodes.pause), newer(l.trigger, w.nodes.trigger), newer(l.cancel, w.nodes.cancel)
	for verb, set := range map[jobstore.Verb]jobstore.Setting{
		jobstore.ToPause: l.pause, jobstore.ToTrigger: l.trigger, jobstore.ToCancel: l.cancel,
	} {
		if set.Version != 0 {
			w.send(jobmachine.Asked{Now: w.now, Request: jobstore.Request{Verb: verb, Setting: set}})
		}
	}
}

// disturb plays an event that is not due.
func (w *walk) disturb() {
	l := &w.leader
	switch n := w.rng.IntN(100); {
	case n < 15:
		w.due()
	case n < 25:
		if len(l.runs) > 0 {
			w.end(l.runs[w.rng.IntN(len(l.runs))], l.draining && w.chance(70))
		}
	case n < 40:
		w.setPause()
	case n < 52:
		w.nodes.trigger.Mark = w.above(w.nodes.trigger.Mark, w.m.State().Manual)
		w.set()
	case n < 54:
		w.nodes.cancel.Mark = w.above(w.nodes.cancel.Mark, w.m.State().Canceled)
		w.learn()
	case n < 57:
		l.behind = l.behind || !l.draining
		w.send(jobmachine.Behind{})
		if l.draining {
			l.behind = true
		}
	case n < 67:
		w.replaceJob()
	case n < 75:
		w.bad = w.now.Add(w.upTo(10*w.interval + 10*time.Second))
	case n < 83:
		if !l.draining {
			l.draining, l.ends = true, w.now.Add(w.upTo(3*w.interval))
			w.send(jobmachine.Drain{})
			l.behind = false
		}
	case n < 90:
		w.change()
	case n < 95:
		w.prepareAgain()
	case n < 98:
		w.lose()
	default:
		w.now = w.now.Add(w.gap())
	}
}

// above returns the mark of a new request, made by the clock of a node, which may be ahead.
func (w *walk) above(before ...jobstore.Mark) jobstore.Mark {
	at := w.now
	if w.chance(20) {
		at = at.Add(w.upTo(time.Second))
	}
	w.ids++
	m := jobstore.Mark{Version: at.UnixMicro(), ID: fmt.Sprintf("%06x", w.ids)}
	for _, other := range before {
		m.Version = max(m.Version, other.Version+1)
	}
	return m
}

func (w *walk) setPause() {
	on := !w.nodes.pause.On
	if w.chance(10) {
		on = !on
	}
	before := w.nodes.pause
	w.nodes.pause = jobstore.Setting{Mark: w.above(before.Mark, w.m.State().Pause.Mark), On: on}
	if !on && before.Holds(w.now) {
		w.nodes.pause.Since = before.At().Truncate(time.Millisecond)
	}
	if on && w.chance(40) {
		w.nodes.pause.Until = w.now.Add(w.upTo(10 * w.interval)).Truncate(time.Millisecond)
	}
	w.logf("(pause set: %v)", on)
	w.set()
}

// set makes the leader learn a setting soon.
func (w *walk) set() {
	if w.leader.learns.IsZero() {
		w.leader.learns = w.now.Add(w.upTo(50 * time.Millisecond))
		if w.chance(20) {
			w.leader.learns = w.now.Add(w.upTo(5 * time.Second))
		}
	}
}

// replaceJob removes the job, brings it back, or replaces it by another one.
func (w *walk) replaceJob() {
	l := &w.leader
	if !l.removed && w.chance(50) {
		l.removed = true
		w.note("removed")
		w.send(jobmachine.Removed{})
		return
	}
	if !l.removed && w.chance(50) {
		return // makes changes rarer
	}
	l.removed = false
	w.job = w.drawJob()
	if w.job.Overlap != w.m.Job().Overlap { // what earlier ticks have waited for depends on it
		l.mixed, w.zombies = w.now, nil
	}
	w.send(jobmachine.Added{Job: w.job, Before: w.m.Job().Schedule})
}

// change makes another process lead, or the same one again.
func (w *walk) change() {
	l := &w.leader
	if l.writing != nil {
		w.abandon()
	}
	if l.draining && w.chance(70) {
		for _, r := range slices.Clone(l.runs) {
			w.end(r, true)
		}
		for range 3 { // their ends are stored if all goes well
			if l.writing != nil {
				w.answer()
			}
			w.due()
		}
		if l.writing != nil {
			w.abandon()
		}
	}
	process := l.process
	if len(l.runs) > 0 || w.chance(60) {
		process = w.newProcess()
	}
	w.zombies = slices.DeleteFunc(w.zombies, func(z zombie) bool { return z.lostState })
	w.leave()
	w.now = w.now.Add(w.gap())
	if w.chance(10) { // the clock of the next leader is behind
		w.now = w.now.Add(-w.upTo(800 * time.Millisecond))
	}
	w.lead(process)
}

// leave lets runs of a leader that is gone go on.
func (w *walk) leave() {
	for _, r := range w.leader.runs {
		if w.chance(50) && w.leader.mixed.IsZero() {
			w.zombies = append(w.zombies, zombie{r.open.ID, r.ends, !w.nodes.floor.IsZero()})
		}
	}
}

// gap returns how long nothing happens.
func (w *walk) gap() time.Duration {
	switch w.rng.IntN(10) {
	case 0:
		return w.upTo(min(1300*w.interval, 4*time.Hour))
	case 1, 2:
		return w.upTo(30 * w.interval)
	}
	return w.upTo(w.interval)
}

// abandon drops the answers to the write under way.
func (w *walk) abandon() {
	p := w.leader.writing
	w.leader.writing = nil
	switch w.rng.IntN(4) {
	case 0:
		w.store(p.written())
	case 1, 2:
		w.nodes.kept = append(w.nodes.kept, p.written())
	}
}

// prepareAgain makes the nodes promise another ballot of the same leader.
func (w *walk) prepareAgain() {
	if w.leader.writing != nil {
		w.abandon()
	}
	w.ask()
}

// ask makes the leader read the nodes' state again.
func (w *walk) ask() {
	l := &w.leader
	if w.chance(50) {
		w.prepare(w.read())
		return
	}
	w.send(jobmachine.Unprepared{})
	l.prepares = w.now.Add(w.upTo(3 * time.Second))
}

// lose makes a majority of the nodes lose its state.
func (w *walk) lose() {
	if !w.nodes.known {
		return
	}
	w.lost = true
	w.note("lost state")
	if w.leader.writing != nil {
		w.abandon()
	}
	n := len(w.nodes.earlier)
	switch {
	case w.chance(15):
		w.lostAll = true
		w.nodes, w.zombies = nodes{}, nil
	case n > 0:
		at := max(0, n-1-w.rng.IntN(5))
		w.nodes.base, w.nodes.earlier = w.nodes.earlier[at], w.nodes.earlier[:at]
		w.nodes.kept = nil
	}
	if w.chance(30) {
		w.nodes.pause, w.nodes.trigger, w.nodes.cancel = w.nodes.base.State.Pause, jobstore.Setting{}, jobstore.Setting{}
	}
	w.nodes.floor = w.now.Add(jobstore.Ahead)
	w.now = w.now.Add(w.upTo(3 * time.Second))
	if w.chance(50) {
		w.ask()
		return
	}
	if w.leave(); !w.nodes.known {
		w.zombies = nil
	}
	for i := range w.zombies { // one leader after the loss waits for them
		w.zombies[i].lostState = true
	}
	w.lead(w.newProcess())
}
