package scheduler

import (
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Run is the execution of a job for one tick.
type Run struct {
	Job      string
	Tick     time.Time // the planned instant, in UTC; for a triggered run, when it was triggered
	Token    uint64    // the fencing token of the term
	Attempt  int       // number of the attempt at this tick, from 1; includes retries and the runs of earlier leaders
	Manual   bool      // started by Trigger or Rerun
	Rerun    bool      // started by Rerun: Tick is a tick that was settled before
	CaughtUp bool      // starts late because nobody led, or too few nodes answered
}

// Key identifies the tick: the job's name, @ and the Unix time in milliseconds, as in "job@1700000000000". A triggered run has an
// m and microseconds instead, as in "job@m1700000000000000"; a rerun has the key of its tick. The key is the same on every replica and in every attempt, so it can
// serve as an idempotency key.
func (r Run) Key() string { return jobmachine.Key(r.Job, r.Tick, r.Manual && !r.Rerun) }

// State says what became of a tick.
type State string

const (
	// StateRunning is a run that has no end yet: it is under way, waits for its next attempt, or its process is gone.
	StateRunning State = "running"
	// StateOK is a run that returned nil. If it did so after the job's Timeout, Err says so.
	StateOK State = jobstore.StateOK
	// StateFailed is a run that returned an error, or panicked.
	StateFailed State = jobstore.StateFailed
	// StateLost is a run without a known end: its process died, lost the lease, or could not store the end.
	StateLost State = jobstore.StateLost
	// StateInterrupted is a run of a job with AtLeastOnce whose process is gone, or that was cut off because its leader stopped or
	// lost its lease. The next leader runs it again.
	StateInterrupted State = jobstore.StateInterrupted
	// StateCanceled is a run that [Scheduler.Cancel] has ended. A run that returned nil nevertheless is StateOK.
	StateCanceled State = jobstore.StateCanceled
	// StateMissed is a tick that nobody ran in time.
	StateMissed State = jobstore.StateMissed
	// StateSkipped is a tick that was due while a run of the job was under way.
	StateSkipped State = jobstore.StateSkipped
)

// Record is a row of a job's history: a run, or ticks that did not run.
type Record struct {
	Run
	ID         string // of the run
	Replica    string // the election identity of the process that ran it
	State      State
	Start, End time.Time // by the nodes' clock
	Err        string    // error of a failed run, cut at 1 KiB; that the timeout has passed; or why ticks did not run

	// Ticks is the number of ticks of a row that stands for a range of ticks that did not run. The range is from From to Tick,
	// both included. 0 means one tick; From is zero then.
	Ticks int
	From  time.Time
}

func recordOf(job string, r jobstore.Record) Record {
	return Record{
		Run: Run{
			Job: job, Tick: r.Slot.At, Token: r.Token, Attempt: r.Attempt, Manual: r.Slot.Manual, Rerun: r.Slot.Again,
			CaughtUp: r.Late,
		},
		ID: r.ID, Replica: r.Replica, State: State(r.State), Start: r.Start, End: r.End, Err: r.Err,
		Ticks: r.Ticks, From: r.From,
	}
}

// runningOf returns the row of a run that has no end. now is by the nodes' clock.
func runningOf(job string, o jobstore.Open, now time.Time) Record {
	late := ""
	if !o.Canceled.IsZero() {
		late = "cancel asked at " + o.Canceled.Format(time.DateTime) + ", it has not returned"
	} else if o.Timeout > 0 && !o.Waits() && now.Sub(o.Start) > o.Timeout+returnTime {
		late = fmt.Sprintf("no end within the job's timeout of %v", o.Timeout)
	}
	return recordOf(job, o.Record(string(StateRunning), late, time.Time{}))
}
