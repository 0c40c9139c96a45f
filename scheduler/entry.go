package scheduler

import (
	"container/heap"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// entry is what the leader knows of one job. The loop's mutex guards it.
type entry struct {
	job   *job
	lane  *lane             // of the job's name
	state register.State    // as of the promise, or newer
	floor time.Time         // ticks up to here are settled
	past  time.Time         // ticks up to here cannot be won, unless nodes that are away come back
	gone  gone              // ticks that were settled with nobody having claimed or left them out
	open  []register.Record // of earlier leaders, to be settled: lost, or taken over
	met   []register.Slot   // those that were there, settled or not

	known    bool          // the nodes have promised
	nodes    nodeSet       // which of them
	waited   bool          // for a run to return, since the last claim
	queued   bool          // a late tick waits for a run to return
	busy     bool          // a claim is under way
	asked    [kinds]asking // by claims without a quorum: they are asked for again
	carried  bool          // these are of this process's last term
	failures int           // of such claims in a row

	at    time.Time // when there is something to do, by the nodes' clock
	index int       // in the agenda; -1: not there
}

// asking is a slot, and the run that it is asked for with.
type asking struct {
	slot    register.Slot
	run     string
	since   time.Time // in this term
	skipped bool      // not to be run: a node that has voted for that would not know that it is under way
}

// nodeSet has nodes by their number, and all above 63.
type nodeSet uint64

func (s *nodeSet) add(node int)     { *s |= 1 << node }
func (s nodeSet) has(node int) bool { return node > 63 || s>>node&1 == 1 }

// promised takes over what the nodes know. Records that this leader has made are its own affair.
func (e *entry) promised(s register.State, token uint64) {
	// Claims and looks go on while the nodes are asked: what they have found out since is newer.
	s.Missed, s.Manual = max(s.Missed, e.state.Missed), later(s.Manual, e.state.Manual)
	s.Pause, s.Trigger = newer(s.Pause, e.state.Pause), newer(s.Trigger, e.state.Trigger)
	if !e.floor.IsZero() { // nobody else has claimed anything in this term: marks are higher because nodes forgot
		s.Manual = e.state.Manual
	}
	e.known, e.state, e.failures, e.nodes = true, s, 0, 0
	for node := range s.Memories {
		e.nodes.add(node)
	}
	if e.carried {
		e.carried = false
		e.dropDecided(s)
	}
	// Our own votes raise marks too: asking decides.
	if asked := e.asked[aTick].slot.At; !asked.IsZero() && !asked.After(s.Mark) {
		s.Mark = asked.Add(-time.Millisecond)
	}
	if asked := e.asked[byHand].slot.At; !asked.IsZero() && !asked.After(s.Manual) {
		s.Manual = asked.Add(-time.Microsecond)
	}
	for _, r := range s.Open {
		isPast := r.Slot.Manual && !r.Slot.At.After(s.Manual) || !r.Slot.Manual && !r.Slot.At.After(s.Mark)
		if r.Token < token && isPast && !slices.Contains(e.met, r.Slot) {
			e.meet(r)
		}
	}
	e.state.Open, e.state.Memories = nil, nil // of very many jobs they would be most of the memory
	if !e.floor.IsZero() && !s.Pause.On {
		e.lose(s.Mark)
	}
	e.settle(s.Mark, s.Since, s.Planned)
	e.set(s.Pause, s.Trigger)
}

// dropDecided forgets claims of the last term that a leader in between has decided, or has gone past.
func (e *entry) dropDecided(s register.State) {
	for kind, mark := range map[kind]time.Time{aTick: s.Mark, byHand: s.Manual} {
		asked := &e.asked[kind]
		isOpen := slices.ContainsFunc(s.Open, func(r register.Record) bool {
			return r.Slot == asked.slot && r.Run == asked.run && r.Attempt == 1
		})
		if at := asked.slot.At; mark.After(at) || mark.Equal(at) && !isOpen {
			*asked = asking{}
		}
	}
}

// meet has a run of an earlier leader settled.
func (e *entry) meet(r register.Record) {
	e.open = append(e.open, r)
	if !slices.Contains(e.met, r.Slot) {
		e.met = append(e.met, r.Slot)
	}
}

// gone counts ticks, of which the next claim tells.
type gone struct {
	n    int
	from time.Time // the first of them
}

// lose raises the floor over ticks that were waiting and that nodes will not vote for any more, as they were admitted
// since.
func (e *entry) lose(upTo time.Time) {
	first := e.job.schedule.Next(e.floor)
	if first.IsZero() || first.After(upTo) {
		return
	}
	_, before := newest(e.job.schedule, first, upTo)
	if e.gone.n == 0 {
		e.gone.from = first
	}
	e.gone.n += before + 1
	e.settle(upTo)
}

// settle raises the floor.
func (e *entry) settle(ticks ...time.Time) {
	for _, t := range ticks {
		e.floor = later(e.floor, t)
	}
}

// set takes over what people have set, where it is newer: who answered may not have heard of what is known. The time of
// a pause is not caught up with.
func (e *entry) set(pause, trigger register.Setting) {
	e.state.Pause, e.state.Trigger = newer(pause, e.state.Pause), newer(trigger, e.state.Trigger)
	if now := e.state.Pause; !now.On && now.Version > 0 {
		e.settle(now.At())
	}
}

// newer is the first of equals.
func newer(a, b register.Setting) register.Setting {
	if a.Version < b.Version {
		return b
	}
	return a
}

// early is how long before its tick the job is claimed: the timer of an idle process is late by as much. No run
// starts before its tick, nor does one end for it.
func (e *entry) early() time.Duration {
	if len(e.lane.runs) > 0 {
		return 0
	}
	return time.Millisecond
}

// triggered tells that somebody has asked for a run by hand that has not been claimed.
func (e *entry) triggered() bool { return e.state.Trigger.At().After(e.state.Manual) }

// plan sets when there is something to do next.
func (e *entry) plan() {
	e.at = time.Time{}
	switch {
	case !e.known, e.busy, e.waits():
		return // until the nodes have promised, or the claim is decided, or the run has returned
	case len(e.open) > 0, e.triggered():
		e.at = e.state.Since // at once
	case !e.state.Pause.On:
		if tick := e.job.schedule.Next(e.floor); !tick.IsZero() {
			e.at = e.job.start(tick).Add(-e.early())
		}
	}
}

// waits tells that what comes next has to wait for a run that is under way.
func (e *entry) waits() bool {
	return len(e.lane.runs) > 0 &&
		(e.queued || e.job.Overlap == Queue || e.job.Overlap == Replace && e.lane.replaced)
}

// agenda has the jobs that there will be something to do for, the earliest first.
type agenda []*entry

// put has an entry at its place, or nowhere if there is nothing to do for it.
func (a *agenda) put(e *entry) {
	e.plan()
	switch {
	case e.at.IsZero() && e.index >= 0:
		heap.Remove(a, e.index)
	case e.at.IsZero():
	case e.index >= 0:
		heap.Fix(a, e.index)
	default:
		heap.Push(a, e)
	}
}

func (a *agenda) remove(e *entry) {
	if e.index >= 0 {
		heap.Remove(a, e.index)
	}
}

// For container/heap.

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at.Before(a[j].at) }

func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].index, a[j].index = i, j
}

func (a *agenda) Push(x any) {
	e := x.(*entry)
	e.index = len(*a)
	*a = append(*a, e)
}

func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	e.index = -1
	return e
}
