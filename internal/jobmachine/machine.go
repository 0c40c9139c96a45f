package jobmachine

import (
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Machine is what a leader knows of a job. It is a value: [Next] returns another one. The zero value is not useful; see [New].
type Machine struct {
	job   *Job
	phase phase
	mode  mode

	stored jobstore.State // by a majority, or as the nodes that have promised name it
	draft  *draft         // the write under way; nil: none. It is not changed any more

	pause, trigger jobstore.Setting // the newest that the leader has learned of
	floor          time.Time        // no tick up to here may be opened; zero: no such floor
	isNew          bool             // the nodes knew nothing of the job
	absence        string           // why ticks up to prepared have not run
	prepared       time.Time        // when the nodes first said what they know
	before         Schedule         // of the plan that was stored, where it is another one
	unstarted      []string         // open runs that this process opened in an earlier term and did not start

	runs    []run      // of this process, under way
	ended   []Returned // and of those that have returned, those whose ends are not stored
	spans   []span     // when runs were under way, for ticks that are not decided
	earlier bool       // a run of an earlier leader may be under way

	proposed    []jobstore.Open // by writes that have failed since the last that was stored: not started
	failures    int             // in a row
	failedSince time.Time
	notBefore   time.Time // nothing is written before

	wake   time.Time // when Due must be sent; zero: after another event
	lazy   bool      // there is something to write that no tick waits for
	behind bool      // the state must be written although it has not changed
	blocks bool      // something waits for a run to return
}

// phase is where the job is between two writes.
type phase int

const (
	unprepared phase = iota // the nodes have not said what they know
	idle
	writing
)

// mode is what the leader may do about the job.
type mode int

const (
	serving mode = iota
	removed
	draining // for good
)

// run is a run of this process that is under way.
type run struct {
	id        string
	start     time.Time
	cancelled bool // as another tick is to take its place
}

// span is when a run was under way.
type span struct {
	id         string
	start, end time.Time // end is zero while it is
}

// New returns the machine of a job of which nothing is known yet.
func New(j *Job) Machine { return Machine{job: j} }

// State returns what is stored, or what the nodes named.
func (m *Machine) State() jobstore.State { return m.stored }

// IsPrepared reports whether the nodes have said what they know.
func (m *Machine) IsPrepared() bool { return m.phase != unprepared }

// IsWriting reports whether a write is under way.
func (m *Machine) IsWriting() bool { return m.phase == writing }

// IsRemoved reports that the job was removed, and that nothing is left to be done about it.
func (m *Machine) IsRemoved() bool {
	return m.mode == removed && len(m.runs) == 0 && m.phase != writing &&
		(m.prepared.IsZero() || len(m.ended) == 0 && m.stored.Removed)
}

// IsAtRest reports that no run is under way, and no end of one has to be stored.
func (m *Machine) IsAtRest() bool {
	return len(m.runs) == 0 && len(m.ended) == 0 && (m.draft == nil || len(m.draft.starts) == 0)
}

// Pause returns the newest pause, or end of one, that the leader has learned of.
func (m *Machine) Pause() jobstore.Setting { return m.pause }

// Ended returns the runs that have returned and whose ends are not stored.
func (m *Machine) Ended() []Returned { return m.ended }

// Failures returns how many writes have failed in a row.
func (m *Machine) Failures() int { return m.failures }

// Wake returns when [Due] must be sent; the zero time: not before another event. lazy reports that it may be sent at leisure,
// for what no tick waits for.
func (m *Machine) Wake() (at time.Time, lazy bool) {
	if m.phase != idle {
		return time.Time{}, false
	}
	return m.wake, (m.lazy || m.behind) && m.notBefore.IsZero() // after a failure, wake is when all of it is tried again
}

// Unstarted returns the runs that writes have opened which may have reached nodes, and that this process has not started.
func (m *Machine) Unstarted() []string {
	ids := slices.Clone(m.unstarted)
	add := func(id string) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, o := range m.proposed {
		add(o.ID)
	}
	if m.draft != nil {
		for _, s := range m.draft.starts {
			add(s.Open.ID)
		}
	}
	return ids
}

// atOnce is before every instant at which something can be due.
var atOnce = time.Time{}.Add(1)

// look has the job looked at now, or as soon as something may be written.
func (m Machine) look(now time.Time) Machine {
	m.wake = later(now, m.notBefore)
	return m
}

// isOurs reports that this process has the run under way, or knows how it has ended.
func (m *Machine) isOurs(id string) bool {
	return slices.ContainsFunc(m.runs, func(r run) bool { return r.id == id }) ||
		slices.ContainsFunc(m.ended, func(r Returned) bool { return r.ID == id })
}

// maxUnlearned is more than the time within which a leader learns that a pause has ended.
const maxUnlearned = time.Hour

// undecided returns the spans that a tick may still fall into on which the machine has not decided: those of runs under way, and
// those that end after the first such tick. Jitter does not count, since another job of the name may have less.
func (m *Machine) undecided(now time.Time) []span {
	isOver := func(s span) bool { return !s.end.IsZero() }
	if !slices.ContainsFunc(m.spans, isOver) {
		return slices.Clone(m.spans)
	}
	var tick time.Time // zero: there is none
	if m.job.Overlap != Allow {
		after := m.stored.Mark
		if m.stored.Pause.On { // ticks that came before the pause ends are dropped
			after = later(after, now.Add(-maxUnlearned))
		}
		tick = m.job.Schedule.Next(after)
	}
	return slices.DeleteFunc(slices.Clone(m.spans), func(s span) bool {
		return isOver(s) && (tick.IsZero() || !s.end.After(tick))
	})
}

// spanAt returns the span that covers an instant.
func (m *Machine) spanAt(t time.Time) (span, bool) {
	for _, s := range m.spans {
		if !s.start.After(t) && (s.end.IsZero() || s.end.After(t)) {
			return s, true
		}
	}
	return span{}, false
}

// nextSpan returns when the first span begins after an instant; false: none does.
func (m *Machine) nextSpan(t time.Time) (start time.Time, ok bool) {
	for _, s := range m.spans {
		if s.start.After(t) && (!ok || s.start.Before(start)) {
			start, ok = s.start, true
		}
	}
	return start, ok
}
