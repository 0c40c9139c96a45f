package jobmachine

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Event is something that has happened to a job.
type Event interface {
	apply(Machine) (Machine, Effects)
}

// Prepared says what the nodes that have promised the leader's ballot know of the job. It comes before all others, and again if
// a majority has lost its state since.
type Prepared struct {
	Now   time.Time
	Basis jobstore.Basis
	// Absence is why ticks that have come before have not run: nobody led.
	Absence string
	// Before is the schedule of the plan in Basis where that is another one than the job's; nil if it cannot be read.
	Before Schedule
	// Unstarted are the runs of Basis that this very process has opened in an earlier term, and knows not to have started.
	Unstarted []string
}

// Unprepared says that the nodes are asked again for what they know. Nothing is written until [Prepared].
type Unprepared struct{}

// Due asks for what must be written now. ID is that of the run that may be opened; it must be new.
type Due struct {
	Now     time.Time
	ID      string
	Token   uint64
	Replica string
	Urgent  bool // a state that has not changed can wait: ticks of other jobs do
}

// Stored says that a majority has stored the write under way.
type Stored struct{ Now time.Time }

// Failed says that the write under way may have reached fewer than a majority. Nothing is written before Retry.
type Failed struct{ Now, Retry time.Time }

// Set says what people have set, as far as the leader has learned.
type Set struct{ Pause, Trigger jobstore.Setting }

// Returned says that a run of this process has returned.
type Returned struct {
	ID      string
	State   string    // one of the states of a record
	Err     string    // why it has failed, or was not run
	Attempt int       // the number of its last try
	Start   time.Time // when it began; zero if it did not
	End     time.Time
	// CutOff says that it ended because its leader was to stop. With AtLeastOnce it is interrupted, whatever State says, and stays
	// open: the next leader runs it again.
	CutOff bool
	// Waits says that a run of an earlier leader was still under way, so that the next run has to wait for it too.
	Waits bool
}

// Behind says that nodes may lack what was stored, so that it must be written once more.
type Behind struct{}

// Added says that the job is another one of the same name now, or that a removed one is back. Before is as in [Prepared].
type Added struct {
	Job    *Job
	Before Schedule
}

// Removed says that the leader has the job no more.
type Removed struct{}

// Drain says that nothing may be opened any more.
type Drain struct{}

// Effects is what has to be done, in the order of the fields.
type Effects struct {
	Write  *jobstore.Write // to be stored; answered by Stored or Failed
	Cancel []string        // runs whose place another tick takes
	Start  []Start
	Tell   []jobstore.Record // what has become so, for hooks and the log
	Obeyed []Setting         // what people have set, for the same
}

// Setting is what somebody has set: a trigger, a pause, or the end of one.
type Setting struct {
	jobstore.Setting
	IsTrigger bool
}

// Start is a run to start.
type Start struct {
	Open jobstore.Open
	At   time.Time // not before
	// Alone says that a run of an earlier leader may be under way still, which this one has to wait for.
	Alone bool
}

// Next returns what becomes of a machine, and what has to be done. It changes neither of its arguments.
func Next(m Machine, e Event) (Machine, Effects) { return e.apply(m) }
