package scheduler

import (
	"strconv"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// Run is the execution of a job for one tick.
type Run struct {
	Job      string
	Tick     time.Time // the planned instant, in UTC; by hand: when it was asked for
	Token    uint64    // the fencing number of the term
	Attempt  int       // at this tick, from 1: counts retries, and the runs of earlier leaders that it follows
	Manual   bool      // asked for with Trigger
	CaughtUp bool      // the tick came while nobody led, or nobody could claim it
}

// Key names the tick: the job's name, @ and the Unix time in milliseconds, as in
// "job@1700000000000". It is the same on every replica and in every attempt, and so an idempotency
// key.
func (r Run) Key() string { return r.Job + "@" + strconv.FormatInt(r.Tick.UnixMilli(), 10) }

// State is what became of a tick.
type State string

const (
	// StateRunning is a run that has no end yet: it is under way, or its process is gone.
	StateRunning State = "running"
	// StateOK is a run that returned nil.
	StateOK State = register.OK
	// StateFailed is a run that returned an error, or panicked.
	StateFailed State = register.Failed
	// StateLost is a run of which no end is known: its process was gone when another one led.
	StateLost State = register.Lost
	// StateMissed is a tick that nobody ran in time.
	StateMissed State = register.Missed
	// StateSkipped is a tick that came while a run of the job was under way.
	StateSkipped State = register.Skipped
)

// Record is what the nodes keep of one tick.
type Record struct {
	Run
	ID         string // of the claim
	Replica    string // its identity in the election
	State      State
	Start, End time.Time // by the nodes' clock
	Err        string    // of a failed run, cut at 1 KiB; of another tick, why it was not run

	// Jumped is how many ticks before this one were left out, from From on.
	Jumped int
	From   time.Time
}

// stateOf translates the one state that the nodes keep under another word.
func stateOf(kept string) State {
	if kept == register.Claimed {
		return StateRunning
	}
	return State(kept)
}

func recordOf(job string, r register.Record) Record {
	return Record{
		Run: Run{
			Job: job, Tick: r.Slot.At, Token: r.Token, Attempt: max(r.Attempt, r.Attempts), Manual: r.Slot.Manual,
			CaughtUp: r.CaughtUp,
		},
		ID: r.Run, Replica: r.By, State: stateOf(r.State), Start: r.Start, End: r.End, Err: r.Err,
		Jumped: r.Jumped, From: r.From,
	}
}
