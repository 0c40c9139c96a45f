package jobmachine_test

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// judgeWake judges when a machine with nothing to write wants the next Due.
func (w *walk) judgeWake(d jobmachine.Due) {
	at0, lazy := w.m.Wake()
	if lazy != w.leader.behind || !at0.IsZero() && !at0.After(w.now) { // a state that nodes lack is written lazily
		w.fail("there is nothing to write, but Wake is %s, lazy=%v", at(at0), lazy)
	}
	d.ID = w.newID()
	if _, effects := jobmachine.Next(w.m, d); effects.Write != nil || effects.Replace != nil {
		w.fail("there was nothing to write, but now there is, at the same instant")
	}
	state := w.m.State()
	if !w.serves() || state.Pause.On {
		return
	}
	for tick := w.job.Schedule.Next(state.Mark); !tick.IsZero(); tick = w.job.Schedule.Next(tick) {
		start := w.job.StartOf(tick)
		if !start.After(w.now) {
			continue
		}
		if at0.IsZero() || at0.After(start) {
			w.fail("the next run is due at %s, but Wake is %s", at(start), at(at0))
		}
		return
	}
}

// judgeQuiet judges that a machine does not wait although there is something to do.
func (w *walk) judgeQuiet() {
	l := &w.leader
	wake, lazy := w.m.Wake()
	if l.writing != nil || !l.prepares.IsZero() || w.now.Before(l.notBefore) || !wake.IsZero() && !wake.After(w.now) || w.chance(50) {
		return
	}
	state := w.m.State()
	gone := l.removed && !l.draining && state.Removed && len(l.runs) == 0 && len(l.returned) == 0
	if w.m.IsRemoved() != gone {
		w.fail("removed is %v, want %v", w.m.IsRemoved(), gone)
	}
	_, effects := jobmachine.Next(w.m, jobmachine.Due{Now: w.now, ID: "quiet", Token: l.token, Replica: l.process})
	if len(effects.Replace) > 0 {
		w.fail("an early Due cancels %v", effects.Replace)
	}
	if effects.Write == nil {
		return
	}
	waits := len(l.runs) > 0 || !l.asked.IsZero() || slices.ContainsFunc(state.Open, jobstore.Open.Waits)
	if !lazy && !waits { // while ticks wait for a run, they may become too late
		w.fail("an early Due writes %+v", *effects.Write)
	}
	for _, o := range effects.Write.State.Open {
		if find(state.Open, o.ID) == nil && !w.isSupposed(state, o) && !o.Start.After(w.now) {
			w.fail("a run waits for a write that is not urgent: %+v", o)
		}
	}
}

// settle lets all go well for a while. Then nothing may be left to do.
func (w *walk) settle() {
	w.bad = time.Time{}
	w.leader.writing = nil
	w.leader.runs = nil
	w.zombies = nil
	w.lead(w.newProcess())
	for range 400 + 5*len(w.m.State().Open) {
		if w.leader.writing != nil {
			w.leader.writing.answer = w.now
			w.answer()
			continue
		}
		if !w.leader.prepares.IsZero() {
			w.prepare(w.read())
			continue
		}
		w.now = later(w.now, w.leader.notBefore)
		wake, lazy := w.m.Wake()
		if len(w.leader.runs) > 0 {
			w.end(w.leader.runs[0], false)
			continue
		}
		if !w.leader.learns.IsZero() {
			w.learn()
			continue
		}
		if !w.leader.answers.IsZero() {
			w.learnOfOthers()
			continue
		}
		open := w.m.State().Open
		if at := slices.IndexFunc(open, func(o jobstore.Open) bool { return o.NotBefore.After(w.now) }); at >= 0 && !lazy {
			w.now = open[at].NotBefore
			continue
		}
		if (wake.IsZero() || wake.After(w.now)) && !lazy {
			w.judgeRest()
			return
		}
		w.due()
	}
	if !w.job.CatchUp.All {
		w.fail("there is always something left to do")
	}
}

// judgeRest judges a machine with nothing left to do.
func (w *walk) judgeRest() {
	s := w.m.State()
	if !w.m.IsAtRest() {
		w.fail("nothing is left to do, but the machine is not at rest")
	}
	for _, o := range s.Open {
		if !s.Pause.On || o.Slot.Manual {
			w.fail("%+v is open for good", o)
		}
	}
	if s.Pause.On || w.leader.removed {
		return
	}
	tick := w.job.Schedule.Next(s.Mark)
	if !tick.IsZero() && !w.job.StartOf(tick).After(w.now) {
		w.fail("the tick %s has come, but is not settled", at(tick))
	}
}
