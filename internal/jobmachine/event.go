package jobmachine

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Event is something that has happened to a job.
type Event interface {
	apply(Machine) (Machine, Effects)
}

// Prepared has the state of the job on the nodes that have promised the leader's ballot. It comes before all other events, and again
// if a majority has lost its state since.
type Prepared struct {
	Now   time.Time
	Basis jobstore.Basis
	// Absence is the reason why earlier ticks have not run: nobody led.
	Absence string
	// Before is the schedule of the plan in Basis if that differs from the job's plan; nil if it cannot be parsed.
	Before Schedule
	// Ended are runs of earlier terms of this process that have returned, and whose ends no term has stored.
	Ended []Returned
	// Unnoticed is how long it takes a leader at most to notice that the nodes' clocks were set back.
	Unnoticed time.Duration
	// Wall is the time by the clock of this process. If no node knows the job, earlier nodes may have: ticks up to Basis.Floor are
	// taken for unopened only if they come after Wall too, because the nodes' clocks are ahead.
	Wall time.Time
}

// Unprepared says that the nodes are asked for the job's state again. Nothing is written until [Prepared].
type Unprepared struct{}

// Due asks for the write that is due now. ID is for a run that may be opened. It must be new, and begin with the leader's ID.
type Due struct {
	Now     time.Time
	ID      string
	Token   uint64
	Replica string
	Urgent  bool // ticks of other jobs wait, so write only a state that has changed
}

// Stored says that a majority has stored the write under way, at this position.
type Stored struct {
	Now time.Time
	At  jobstore.At
}

// Failed says that no majority has confirmed the write under way. Nothing is written before Retry.
type Failed struct{ Now, Retry time.Time }

// Asked has a request that the leader has learned of.
type Asked struct {
	Now     time.Time
	Request jobstore.Request
}

// Returned says that a run of this process has returned.
type Returned struct {
	ID      string
	State   string // one of the states of a record
	Err     string // why it failed, or did not run
	Attempt int    // the number of its last attempt
	End     time.Time
	// CutOff says that it ended because its leader stopped or lost its lease. With AtLeastOnce it is interrupted, whatever State
	// says, and stays open: the next leader runs it again.
	CutOff bool
	// Pause is how long the run waits until its next attempt; 0: there is none.
	Pause time.Duration
}

// Held says that a run of an earlier leader was under way at an instant.
type Held struct{ At time.Time }

// Free says that no run of an earlier leader is under way any more.
type Free struct{ Now time.Time }

// Behind says that nodes may lack the stored state, so it must be written again.
type Behind struct{}

// Added says that the job was replaced by another one of the same name, or that a removed job is back. Before is as in [Prepared].
type Added struct {
	Job    *Job
	Before Schedule
}

// Removed says that the leader no longer has the job.
type Removed struct{}

// Drain says that no run may be opened any more.
type Drain struct{}

// Effects are what the caller has to do, in the order of the fields.
type Effects struct {
	Write *jobstore.Write // to store; the result comes back as Stored or Failed
	// Ask says that a run waits until none of an earlier leader is under way. What is learned of that comes back as Held, maybe
	// again and again, and at last as Free.
	Ask     bool
	Replace []string // runs to end, because another tick takes their place
	Cancel  []string // runs to end, because of the request Canceled
	Start   []Start
	Report  []jobstore.Record  // to report to hooks and the log
	Applied []jobstore.Request // to report as well

	Canceled jobstore.Request
}

// Start is a run to start.
type Start struct {
	Open jobstore.Open
	At   time.Time // the run must not begin earlier
}

// Next returns the new machine and the effects to carry out. It does not change its arguments.
func Next(m Machine, e Event) (Machine, Effects) { return e.apply(m) }
