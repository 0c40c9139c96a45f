package jobstore

import (
	"fmt"
	"time"
)

// State is everything that the nodes know of a job, except its history. The leader writes it as a whole. States share their records,
// which do not change.
type State struct {
	Since    time.Time   // when a leader first had the job
	Plan     string      // normalized spec and zone; a different plan has different ticks
	Mark     time.Time   // high-water mark: every tick up to here is settled or open
	Reading  time.Time   // local time of the job's zone, as a time in UTC: every tick up to it is settled or open; zero: unknown
	Pause    Setting     // the newest that is applied, or the newest end of a pause
	All      Setting     // the same of all jobs
	Manual   Mark        // the newest trigger that is applied: its run was opened or refused
	Canceled Mark        // the newest request to end runs that is applied
	Missed   int         // all missed ticks
	NotRun   NotRun      // the newest tick that did not run; zero if a newer one was opened
	Waits    string      // why ticks after the mark, or runs to repeat, wait; empty: as far as the leader knew, none did
	Open     []Open      // runs without an end, in the order in which they were opened
	Kept     []time.Time // ticks up to the mark that a changed plan has as well, and that have not begun
	Skipped  *Record     // skipped ticks that no row of the history has yet; nil: there are none, as below
	Last     *Record     // the newest run that has ended
	LastOK   *Record     // the newest that ended with StateOK
	ByHand   *Record     // the newest triggered run that has ended, or that did not take place
	Reruns   []Rerun     // requests to run ticks again that were applied lately
	Failures int         // runs in a row that failed or were lost
	Removed  bool        // the leader does not have the job any more
	Lost     time.Time   // when a leader found that a majority had lost the job; zero: never

	// These matter only if the nodes' clocks are set back, so that instants come a second time.
	Gaps []Range // recent ranges of ticks up to the mark that no leader has opened
	Ran  Range   // ticks after the mark that may have been opened before the clocks were set back
}

// Written is a state, and its position in the order of the writes of its job.
type Written struct {
	At    At
	State State
}

// Range is a range of instants: after one and up to the other.
type Range struct{ After, UpTo time.Time }

// Has reports whether an instant is in the range.
func (r Range) Has(t time.Time) bool { return t.After(r.After) && !t.After(r.UpTo) }

// Length returns the time between the two ends.
func (r Range) Length() time.Duration { return r.UpTo.Sub(r.After) }

// AllJobs is the name under which the pause of all jobs is kept: that of a job without ticks. No other job can have the name.
const AllJobs = "\x01all jobs"

// Label returns what people call a job.
func Label(job string) string {
	if job == AllJobs {
		return "all jobs"
	}
	return fmt.Sprintf("job %q", job)
}

// MaxOpen is the largest number of open runs in a state. A state with more is neither written nor read.
const MaxOpen = 1000

// check returns an error if the state cannot be stored.
func (s *State) check() error {
	if n := len(s.Open); n > MaxOpen {
		return fmt.Errorf("%d open runs, at most %d can be stored", n, MaxOpen)
	}
	return nil
}

// newest returns the newest time in the state, except for the mark, the starts of attempts, and ticks that were opened. A run
// with jitter may be taken over before its start. If the nodes' clocks are set back, a tick that was opened keeps its name.
func (s *State) newest() time.Time {
	t := s.Pause.At()
	for _, other := range []time.Time{s.All.At(), s.Since, s.NotRun.Tick, s.Lost} {
		t = latest(t, other)
	}
	for _, r := range []*Record{s.Skipped, s.Last, s.LastOK, s.ByHand} {
		if r != nil {
			t = latest(t, r.End)
		}
	}
	for _, o := range s.Open {
		t = latest(t, o.Began)
	}
	marks := []Mark{s.Pause.Mark, s.All.Mark, s.Manual, s.Canceled}
	for _, r := range s.Reruns {
		marks = append(marks, r.Mark)
	}
	for _, m := range marks { // they may be ahead of the clocks, but not by so much
		t = latest(t, timeOf(m.Version).Add(-farthest))
	}
	return t
}

// Slot identifies what a run is for: a tick, a trigger, or a tick that somebody wants to run again.
type Slot struct {
	At     time.Time // of a tick, in whole ms; or the version of a trigger, in µs
	Manual bool      // somebody asked for it
	Again  bool      // with Manual: At is that of a tick
}

// Open is a run whose start has been written and that has no end yet.
type Open struct {
	Slot    Slot
	ID      string // of the run
	Attempt int    // number of its next or present attempt, from 1, counted over all runs of the slot
	Tries   int    // attempts that are left, with that one
	Token   uint64
	Replica string
	Start   time.Time     // of the run in its present process, by the nodes' clock; zero: it waits for that
	Began   time.Time     // when the first attempt of the slot began, in whatever process
	Late    bool          // the tick is caught up with
	Timeout time.Duration // of the job; 0: none
	// Returned says that the run was cut off and has returned. The next leader runs the slot again and need not wait for this run.
	Returned bool
	// NotBefore is when the next attempt of a run may begin. Until then it is under way in no process. Zero: it is under way.
	NotBefore time.Time
	Deaths    int // how many processes have ended without a known end of this slot's run
	// Canceled is when somebody asked to end the run; zero: nobody has. It is not repeated.
	Canceled time.Time
}

// Waits reports whether the run waits for its next attempt.
func (o Open) Waits() bool { return !o.NotBefore.IsZero() }

// Record returns the row of the run, with its state and its end.
func (o Open) Record(state, err string, end time.Time) Record {
	start := o.Start
	if start.IsZero() {
		start = o.Began
	}
	return Record{
		Slot: o.Slot, ID: o.ID, Attempt: o.Attempt, Token: o.Token, State: state, Replica: o.Replica, Start: start, End: end,
		Late: o.Late, Err: err,
	}
}

// Rerun is an applied request to run a tick again.
type Rerun struct {
	Tick time.Time
	Mark
	Outcome Record // of its run; its State is empty until it has ended, or is known not to take place
}

// NotRun is a tick that did not run.
type NotRun struct {
	Tick   time.Time
	Reason string
}

// States of a record.
const (
	StateOK      = "ok"
	StateFailed  = "failed"
	StateLost    = "lost"
	StateMissed  = "missed"
	StateSkipped = "skipped"
	// StateCanceled is a run that somebody has ended.
	StateCanceled = "canceled"
	// StateInterrupted is a run whose process is gone, or that was cut off because its leader stopped or lost its lease. The next
	// leader runs it again.
	StateInterrupted = "interrupted"
)

// Record is a row of a job's history: a run that has ended, or ticks that did not run.
type Record struct {
	Slot    Slot
	ID      string
	Attempt int // number of its last attempt
	Token   uint64
	State   string
	Replica string
	Start   time.Time
	End     time.Time
	Late    bool
	Err     string
	Ticks   int       // number of ticks, if the row is for a range; Slot is the last of them
	From    time.Time // the first tick of the range
}
