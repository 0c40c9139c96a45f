package jobmachine_test

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// lead starts the term of a process.
func (w *walk) lead(process string) {
	if len(w.starts) == 0 || w.chance(20) {
		before := w.job
		if w.job = w.drawJob(); w.job.Overlap != before.Overlap {
			w.zombies = nil // they may have overlapped
		}
	}
	w.token++
	w.leader = leader{id: fmt.Sprintf("%05d:", w.token), process: process, token: w.token}
	w.m, w.first, w.sent = jobmachine.New(w.job, w.leader.id), w.job, nil
	if w.chance(90) {
		w.learn() // it asks for requests before it writes
		w.prepare(w.read())
		return
	}
	w.learn()
	w.replaceJob()
	w.leader.prepares = w.now
}

// read returns the basis from the nodes that answer.
func (w *walk) read() jobstore.Basis {
	b := jobstore.Basis{Known: w.nodes.known, Written: w.nodes.base, Floor: w.nodes.floor}
	b.Lost = !b.Known && w.lostAll
	if n := len(w.nodes.kept); n > 0 {
		if received := w.rng.IntN(n + 1); received < n {
			b.Known, b.Written = true, w.nodes.kept[received]
		}
	}
	b.State = truncated(b.State)
	return b
}

func isPrepared(e jobmachine.Event) bool {
	_, is := e.(jobmachine.Prepared)
	return is
}

// truncated returns a state with the precision that the nodes keep.
func truncated(s jobstore.State) jobstore.State {
	s.Mark, s.Since = s.Mark.Truncate(time.Millisecond), s.Since.Truncate(time.Microsecond)
	s.Open = slices.Clone(s.Open)
	return s
}

func (w *walk) prepare(b jobstore.Basis) {
	e := jobmachine.Prepared{Now: w.now, Basis: b, Absence: "nobody led"}
	if b.Known && b.State.Plan != w.job.Plan {
		e.Before = w.plans[b.State.Plan]
	}
	was := w.m
	w.sendsOnly(e)
	l := &w.leader
	if !b.Known {
		w.zombies = nil // nobody knows them
	}
	l.isNew = !b.Known && !slices.ContainsFunc(w.sent[:len(w.sent)-1], isPrepared)
	l.prepares, l.floor, l.behind, l.notBefore, l.writing = time.Time{}, b.Floor, true, time.Time{}, nil
	if l.prepared.IsZero() {
		l.prepared = w.now
	}
	w.judgePrepared(b, was)
	if before := was.State(); b.State.Mark.Before(before.Mark) { // states that only some nodes had stored are dropped
		l.mixed = w.now
	}
	for _, o := range w.m.State().Open {
		if w.isUnderWay(o.ID) || w.hasReturned(o.ID) || w.unstarted[o.ID] == l.id {
			continue
		}
		if o.Waits() {
			start := o.Start
			if start.IsZero() {
				start = o.NotBefore
			}
			l.spans = append(l.spans, period{o.ID, start, time.Time{}, true})
			continue
		}
		if w.job.Overlap == jobmachine.Queue || w.job.Overlap == jobmachine.Replace {
			l.spans = append(l.spans, period{o.ID, o.Start, w.now, false})
		}
	}
	if last := w.m.State().Last; last != nil {
		l.spans = append(l.spans, period{last.ID, last.Start, last.End, last.State != jobstore.StateLost && last.State != jobstore.StateCanceled})
	}
}

// judgePrepared judges the state from which a leader goes on: the one that was written last, by it or by another leader.
func (w *walk) judgePrepared(b jobstore.Basis, before jobmachine.Machine) {
	is, own := w.m.State(), before.State()
	if b.Lost {
		b.State.Lost, own.Lost = w.now, w.now
	}
	if b.Lost && !is.Lost.Equal(w.now) {
		w.fail("the loss of the job is recorded as of %s", at(is.Lost))
	}
	again := len(w.sent) > 1 && slices.ContainsFunc(w.sent[:len(w.sent)-1], isPrepared)
	b.State.Open = slices.Clone(b.State.Open)
	for i, o := range b.State.Open { // it may have gone on, and the nodes have lost that
		if !again && !o.NotBefore.After(b.Floor) {
			b.State.Open[i].NotBefore = time.Time{}
		}
	}
	switch {
	case !again && !b.Known:
		if is.Mark.Before(w.now) || is.Mark.Before(b.Floor) || is.Plan != w.job.Plan || is.Missed != 0 {
			w.fail("a new job begins with %+v", is)
		}
		return
	case !again || b.Known && b.At.Seq > before.At().Seq:
		if !reflect.DeepEqual(is, b.State) {
			w.fail("the state of the nodes is not taken over: %s", text(is))
		}
	case !reflect.DeepEqual(is, own):
		w.fail("the leader does not go on from its own state: %s", text(is))
	}
}

func newer(a, b jobstore.Setting) jobstore.Setting {
	if b.IsNewer(a.Mark) {
		return b
	}
	return a
}

// due asks the machine for a write.
func (w *walk) due() {
	l := &w.leader
	was, writing := w.m.State(), w.m.IsWriting() || !l.prepares.IsZero()
	d := jobmachine.Due{Now: w.now, ID: w.newID(), Token: l.token, Replica: l.process, Urgent: w.chance(50)}
	effects := w.send(d)
	if len(effects.Replace) > 0 {
		w.logf("(cancels %v)", effects.Replace)
	}
	if effects.Ask {
		w.asked()
	}
	if writing || w.now.Before(l.notBefore) {
		w.wantNone(d, effects) // nothing may be written
		return
	}
	l.lazy = time.Time{}
	if effects.Start != nil || effects.Report != nil {
		w.fail("Due starts or reports something: %+v", effects)
	}
	if effects.Write == nil {
		if l.behind && !d.Urgent {
			w.fail("a state that nodes lack is not written")
		}
		w.judge(d, was, jobstore.Write{State: &was})
		w.judgeCancels(effects.Replace, was, d)
		w.judgeEnded(effects.Cancel)
		w.judgeWake(d)
		return
	}
	fresh := w.judge(d, was, *effects.Write)
	w.judgeCancels(effects.Replace, *effects.Write.State, d)
	w.judgeEnded(effects.Cancel)
	settles := func(r jobmachine.Returned) bool { // a write that seemed to fail has its end, which is now reported
		o := find(was.Open, r.ID)
		return o == nil || o.Returned || o.Waits() || w.cancels()
	}
	if (!l.behind || d.Urgent) && reflect.DeepEqual(was, effects.Write.State) && !slices.ContainsFunc(l.returned, settles) {
		w.fail("a write changes nothing")
	}
	if w.logs {
		w.logf("(writes %s)", text(*effects.Write.State))
	}
	for _, r := range effects.Write.Ended {
		w.logf("(record %s of %s: %s, %d ticks from %s, %q)", r.ID, at(r.Slot.At), r.State, r.Ticks, at(r.From), r.Err)
	}
	w.seq++
	l.writing = &writeUnderWay{at: jobstore.At{Ballot: jobstore.Ballot(l.id), Seq: w.seq}, write: effects.Write, was: was, job: w.job, answer: w.now.Add(w.delay()), fresh: fresh, retries: map[string]int{},
		settles: slices.Clone(l.returned)}
	for _, o := range effects.Write.State.Open {
		if o.Waits() && find(was.Open, o.ID) == nil { // kept
			w.unstarted[o.ID] = l.id
		}
	}
	for _, o := range fresh {
		w.unstarted[o.ID] = l.id
		isUnstarted := func(b jobstore.Open) bool {
			return b.Slot == o.Slot && b.Attempt == o.Attempt && w.unstarted[b.ID] == l.id
		}
		if waiting(was.Open, o.Slot) != nil || w.paused(o.ID) || o.Attempt > 1 && slices.ContainsFunc(was.Open, isUnstarted) {
			l.writing.retries[o.ID] = o.Attempt
		}
	}
	if at, lazy := w.m.Wake(); !at.IsZero() || lazy || !w.m.IsWriting() {
		w.fail("Wake is %s, %v during a write", at, lazy)
	}
}

func (w *walk) delay() time.Duration {
	if w.chance(90) {
		return w.upTo(5 * time.Millisecond)
	}
	return w.upTo(3 * time.Second)
}

// answer makes the nodes answer the write under way.
func (w *walk) answer() {
	l := &w.leader
	p := l.writing
	l.writing = nil
	percent := 4
	if w.now.Before(w.bad) {
		percent = 85
	}
	if w.chance(percent) || p.write.State.Mark.After(w.now.Add(jobstore.Ahead)) {
		w.failed(p)
		return
	}
	effects := w.send(jobmachine.Stored{Now: w.now, At: p.at})
	l.behind, l.floor, l.notBefore = false, time.Time{}, time.Time{}
	w.store(p.written())
	if !reflect.DeepEqual(w.m.State(), *p.write.State) {
		w.fail("what was stored is not what the machine holds")
	}
	w.judgeStored(effects, p)
}

func (w *walk) store(s jobstore.Written) {
	if w.nodes.known {
		w.nodes.earlier = append(w.nodes.earlier, w.nodes.base)
		w.nodes.earlier = w.nodes.earlier[max(0, len(w.nodes.earlier)-20):]
	}
	w.nodes.known, w.nodes.base, w.nodes.kept, w.nodes.floor = true, s, nil, time.Time{}
	w.nodes.pause = newer(w.nodes.pause, s.State.Pause)
}

// failed makes a write reach no node, some nodes, or a majority whose answers are lost.
func (w *walk) failed(p *writeUnderWay) {
	l := &w.leader
	switch w.rng.IntN(10) {
	case 0, 1:
		w.logf("(a majority has it)")
		w.store(p.written())
	case 2, 3, 4:
		w.logf("(some nodes have it)")
		w.nodes.kept = append(w.nodes.kept, p.written())
	}
	l.notBefore, l.behind = w.now.Add(50*time.Millisecond+w.upTo(time.Second)), true
	was := w.m.State()
	w.sendsOnly(jobmachine.Failed{Now: w.now, Retry: l.notBefore})
	if !reflect.DeepEqual(was, w.m.State()) {
		w.fail("a write that has failed has changed the state")
	}
}

func (w *walk) note(what string) { w.counts[what]++ }

func (w *walk) isUnderWay(id string) bool {
	return slices.ContainsFunc(w.leader.runs, func(r *activeRun) bool { return r.open.ID == id })
}

func (w *walk) hasReturned(id string) bool {
	return slices.ContainsFunc(w.leader.returned, func(r jobmachine.Returned) bool { return r.ID == id })
}
