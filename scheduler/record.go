package scheduler

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Run is the execution of a job for one tick.
type Run struct {
	Job      string
	Tick     time.Time // the planned instant, in UTC; of a triggered run: when it was triggered
	Token    uint64    // the fencing number of the term
	Attempt  int       // at this tick, from 1: counts retries, and the runs of earlier leaders that it follows
	Manual   bool      // started by Trigger
	CaughtUp bool      // it starts late, as nobody led, or too few nodes answered
}

// Key names the tick: the job's name, @ and the Unix time in milliseconds, as in "job@1700000000000". Of a triggered run it is
// the time in microseconds after an m, as in "job@m1700000000000000". It is the same on every replica and in every attempt, and
// so an idempotency key.
func (r Run) Key() string { return jobmachine.Key(r.Job, r.Tick, r.Manual) }

// State is what became of a tick.
type State string

const (
	// StateRunning is a run that has no end yet: it is under way, or its process is gone.
	StateRunning State = "running"
	// StateOK is a run that returned nil.
	StateOK State = jobstore.StateOK
	// StateFailed is a run that returned an error, or panicked.
	StateFailed State = jobstore.StateFailed
	// StateLost is a run of which no end is known: its process was gone when another one led.
	StateLost State = jobstore.StateLost
	// StateInterrupted is a run of a job with AtLeastOnce that was cut off because its leader stopped, or lost its lease. The
	// next leader runs it again.
	StateInterrupted State = jobstore.StateInterrupted
	// StateMissed is a tick that nobody ran in time.
	StateMissed State = jobstore.StateMissed
	// StateSkipped is a tick that was due while a run of the job was under way.
	StateSkipped State = jobstore.StateSkipped
)

// Record is a row of a job's history: a run, or ticks that did not run.
type Record struct {
	Run
	ID         string // of the run
	Replica    string // its identity in the election
	State      State
	Start, End time.Time // by the nodes' clock
	Err        string    // of a failed run, cut at 1 KiB; of ticks that did not run, why

	// Ticks is the number of ticks that the row stands for, if it is a range of ticks that did not run: from From to Tick,
	// both included. 0 means one tick, and From is zero then.
	Ticks int
	From  time.Time
}

func recordOf(job string, r jobstore.Record) Record {
	return Record{
		Run: Run{
			Job: job, Tick: r.Slot.At, Token: r.Token, Attempt: r.Attempt, Manual: r.Slot.Manual, CaughtUp: r.Late,
		},
		ID: r.ID, Replica: r.Replica, State: State(r.State), Start: r.Start, End: r.End, Err: r.Err,
		Ticks: r.Ticks, From: r.From,
	}
}

// runningOf is the row of a run that has no end.
func runningOf(job string, o jobstore.Open) Record {
	return recordOf(job, o.Record(string(StateRunning), "", time.Time{}))
}
