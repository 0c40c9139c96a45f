package jobmachine

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Event is something that has happened to a job.
type Event interface {
	apply(Machine) (Machine, Effects)
}

// Prepared says what the nodes that have promised the leader's ballot know of the job. It is the first event, and comes again if
// a majority has lost its state since.
type Prepared struct {
	Now   time.Time
	Basis jobstore.Basis
	// Absence says why ticks that came before have not run: nobody led.
	Absence string
	// Before is the schedule of the plan in Basis where that is another one than the job's; nil if it cannot be read.
	Before Schedule
	// Unstarted are the runs of Basis that this process has opened in an earlier term and has not started.
	Unstarted []string
}

// Unprepared says that the nodes are asked again for what they know. Nothing is written until [Prepared].
type Unprepared struct{}

// Due asks for a write. ID is for the run that the write may open; it must be new.
type Due struct {
	Now     time.Time
	ID      string
	Token   uint64
	Replica string
}

// Stored says that a majority has stored the write under way.
type Stored struct{ Now time.Time }

// Failed says that the write under way may have reached fewer than a majority. Nothing is written before Retry.
type Failed struct{ Now, Retry time.Time }

// Set has the newest settings that the leader has learned of.
type Set struct{ Pause, Trigger jobstore.Setting }

// Returned says that a run of this process has returned.
type Returned struct {
	ID      string
	State   string    // one of the states of a record
	Err     string    // why it has failed, or was not run
	Attempt int       // the number of its last try
	Start   time.Time // when it began; zero if it did not
	End     time.Time
	// CutOff says that it ended because its leader stopped or lost its lease. With AtLeastOnce it stays open, and the next
	// leader runs it again.
	CutOff bool
	// Waits says that a run of an earlier leader was still under way, so the next run has to wait for it too.
	Waits bool
}

// Behind says that nodes may lack what was stored, so it must be written again.
type Behind struct{}

// Added says that another job has the name now, or that a removed one is back. Before is as in [Prepared].
type Added struct {
	Job    *Job
	Before Schedule
}

// Removed says that the leader does not have the job any more.
type Removed struct{}

// Drain says that nothing may be opened any more.
type Drain struct{}

// Effects must be carried out, in the order of the fields.
type Effects struct {
	Write  *jobstore.Write // to be stored; answered by Stored or Failed
	Cancel []string        // runs whose place another tick takes
	Start  []Start
	Tell   []jobstore.Record // records that are stored, for hooks and the log
}

// Start is a run to start.
type Start struct {
	Open jobstore.Open
	At   time.Time // not before
	// Alone says that the run must wait for a run of an earlier leader that may be under way.
	Alone bool
}

// Next returns the machine after an event, and the effects to carry out. It changes neither of its arguments.
func Next(m Machine, e Event) (Machine, Effects) { return e.apply(m) }
