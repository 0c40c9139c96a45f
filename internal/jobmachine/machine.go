package jobmachine

import (
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Machine has all that a leader knows of a job. It is an immutable value: [Next] returns a new one. Use [New] to get the first.
type Machine struct {
	job    *Job
	leader string // begins the IDs of all runs that this leader opens
	phase  phase
	mode   mode

	stored stored // by a majority, or chosen from the nodes' promises
	draft  *draft // the write under way, which does not change any more; nil: none

	requests   []jobstore.Request // that the leader has learned of and no stored state has: one for each verb, or rerun of a tick
	floor      time.Time          // no tick up to here may be opened; zero: no floor
	isNew      bool               // no node knew the job
	wasSetBack bool               // the nodes' clocks were set back before it was prepared
	absence    string             // why ticks up to prepared have not run
	prepared   time.Time          // when the job was first prepared
	before     Schedule           // of the stored plan, if it differs from the job's

	runs  []run      // runs of this leader that are under way
	ended []Returned // runs of this leader that have returned and whose ends are not stored
	spans []span     // when runs were under way, for ticks that are not decided
	asked bool       // the caller finds out whether a run of an earlier leader is under way

	failures    int // failed writes in a row
	failedSince time.Time
	notBefore   time.Time // the next write may not start earlier

	wake   time.Time // when Due must be sent; zero: after another event
	lazy   bool      // there is something to write that no tick waits for
	behind bool      // the state must be written although it has not changed
	blocks bool      // something waits for a run to return
}

// stored is a state and its position. The state is never changed, so that machines share it: it is large, and there is a machine for
// each event.
type stored struct {
	At    jobstore.At
	State *jobstore.State
}

// phase says whether the job is prepared, and whether a write is under way.
type phase int

const (
	unprepared phase = iota // its state must be read from the nodes first
	idle
	writing
)

// mode says what the leader may do about the job.
type mode int

const (
	serving mode = iota
	removed
	draining // until the end of the term
)

// run is a run of this leader that is under way.
type run struct {
	id       string
	start    time.Time
	began    time.Time // of the first attempt of its slot
	canceled bool      // another tick takes its place
}

// span is the time in which a run was under way.
type span struct {
	id         string
	start, end time.Time // end is zero while the run is under way
	unsure     bool      // a run of an earlier leader may have been under way: ticks wait for it, and are not skipped because of it
}

func (s span) covers(t time.Time) bool {
	return !s.start.After(t) && (s.end.IsZero() || s.end.After(t))
}

// New returns the machine of a job whose state is not known yet. leader is the ID of the leader, which no other one has, nor the
// same process in another term.
func New(j *Job, leader string) Machine {
	return Machine{job: j, leader: leader, stored: stored{State: &unknown}}
}

// unknown is the state of all jobs that have not been read.
var unknown jobstore.State

// State returns the stored state.
func (m *Machine) State() jobstore.State { return *m.stored.State }

// At returns the position of the stored state in the order of writes. It is zero if there is none.
func (m *Machine) At() jobstore.At { return m.stored.At }

// IsPrepared reports whether the job's state was read from the nodes.
func (m *Machine) IsPrepared() bool { return m.phase != unprepared }

// IsWriting reports whether a write is under way.
func (m *Machine) IsWriting() bool { return m.phase == writing }

// IsRemoved reports whether the job was removed and nothing is left to do for it.
func (m *Machine) IsRemoved() bool {
	return m.mode == removed && len(m.runs) == 0 && m.phase != writing &&
		(m.prepared.IsZero() || len(m.ended) == 0 && m.stored.State.Removed)
}

// IsAtRest reports whether no run is under way, and no end of a run has to be stored.
func (m *Machine) IsAtRest() bool {
	return len(m.runs) == 0 && len(m.ended) == 0 && (m.draft == nil || len(m.draft.starts) == 0)
}

// IsOverdue reports whether a tick that had to begin by an instant is neither opened nor recorded, and nothing explains it: the job
// is not paused nor about to be, and no run or node is waited for.
func (m *Machine) IsOverdue(by time.Time) bool {
	s := m.stored.State
	if m.phase == unprepared || m.mode != serving || m.failures > 0 || len(m.requests) > 0 || isPaused(s) || s.Waits != "" {
		return false
	}
	return !m.job.NewestDue(s.Mark, by).IsZero()
}

// StoresInDrain reports whether a leader that drains has something to store, or a run to end.
func (m *Machine) StoresInDrain() bool {
	return len(m.ended) > 0 || len(m.runs) > 0 && slices.ContainsFunc(m.requests, func(r jobstore.Request) bool {
		return r.Verb == jobstore.ToCancel
	})
}

// Ended returns the runs that have returned but whose ends are not stored.
func (m *Machine) Ended() []Returned { return m.ended }

// Failures returns how many writes have failed in a row.
func (m *Machine) Failures() int { return m.failures }

// Wake returns when [Due] must be sent, or the zero time if not before another event. lazy reports that there is a write that no tick
// waits for: Due may be sent for it at any time.
func (m *Machine) Wake() (at time.Time, lazy bool) {
	if m.phase != idle {
		return time.Time{}, false
	}
	return m.wake, (m.lazy || m.behind) && m.notBefore.IsZero() // after a failure, wake is the time of the retry
}

// atOnce is before all real instants.
var atOnce = time.Time{}.Add(1)

// wakeAt makes Due necessary at an instant, or when the next write may start if that is later.
func (m Machine) wakeAt(t time.Time) Machine {
	m.wake = later(t, m.notBefore)
	return m
}

// isUnstarted reports whether this leader has opened a run and not started it: too few nodes have confirmed the write, but one of
// them has the state.
func (m *Machine) isUnstarted(o jobstore.Open) bool {
	return strings.HasPrefix(o.ID, m.leader) && !o.Returned && !m.isOurs(o.ID)
}

// isOurs reports whether a run of this leader is under way, or has returned and its end is not stored.
func (m *Machine) isOurs(id string) bool {
	return slices.ContainsFunc(m.runs, func(r run) bool { return r.id == id }) ||
		slices.ContainsFunc(m.ended, func(r Returned) bool { return r.ID == id })
}

// isPaused reports whether no tick of the job is opened.
func isPaused(s *jobstore.State) bool { return s.Pause.On || s.All.On }

// maxUnlearned is longer than a leader needs to learn that a pause has ended.
const maxUnlearned = time.Hour

// undecided returns the spans that are still needed to decide on ticks: those of runs under way, and those that end after the first
// undecided tick. It ignores jitter, since a later job of the same name may have less.
func (m *Machine) undecided(now time.Time) []span {
	if len(m.spans) == 0 {
		return nil
	}
	after := m.stored.State.Mark
	if isPaused(m.stored.State) { // ticks that come during the pause do not run
		after = later(after, now.Add(-maxUnlearned))
	}
	tick := m.job.Schedule.Next(after) // the first undecided tick
	return slices.DeleteFunc(slices.Clone(m.spans), func(s span) bool {
		return !s.end.IsZero() && (tick.IsZero() || !s.end.After(tick))
	})
}

// spanAt returns the span that covers an instant.
func (m *Machine) spanAt(t time.Time) (span, bool) {
	for _, s := range m.spans {
		if !m.ignores(s) && s.covers(t) {
			return s, true
		}
	}
	return span{}, false
}

// mayGoOn reports whether a run of an earlier leader may be under way.
func (m *Machine) mayGoOn() bool {
	return slices.ContainsFunc(m.spans, func(s span) bool { return s.unsure && s.end.IsZero() })
}

func (m *Machine) ignores(s span) bool { return s.unsure && m.job.Overlap == Skip }

// nextSpan returns when the first span after an instant begins, or false if there is none.
func (m *Machine) nextSpan(t time.Time) (start time.Time, ok bool) {
	for _, s := range m.spans {
		if !m.ignores(s) && s.start.After(t) && (!ok || s.start.Before(start)) {
			start, ok = s.start, true
		}
	}
	return start, ok
}
