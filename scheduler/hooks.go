package scheduler

import (
	"errors"
	"time"

	"github.com/redlockfx/redlockfx/internal/chain"
)

// Hooks report what a Scheduler does, for metrics and traces. Any may be nil. They are called on the goroutine
// that does it, never under a lock, and may call any method: one that blocks holds that run, or the ticks of
// all jobs, up.
type Hooks struct {
	// Started is called before the job's Run is, when a majority of nodes has stored that the run begins.
	Started func(Run)
	// Finished is called for each record that this process has stored: of its own runs, of ticks that it skipped because of a
	// run under way, and of runs of earlier leaders that were lost. It is called too for an own run whose end could not be
	// stored before the term was over.
	Finished func(Record)
	// Retrying is called when an attempt has failed and another one follows in the same run.
	Retrying func(Run, error)
	// Panicked is called when an attempt has panicked, with the value and the stack; then Retrying or Finished is.
	Panicked func(run Run, value any, stack []byte)
	// Unclaimed is called when too few nodes have stored that a run begins, once for several attempts in a row. The leader
	// retries. err wraps redlock.ErrNoQuorum, and says what each node answered.
	Unclaimed func(job string, tick time.Time, err error)
	// Fenced is called when the nodes serve a leader with a larger token than this term's: another leads, or has led, since.
	// Nothing can be stored any more, so the term ends; the next one's token is larger.
	Fenced func(token, by uint64)
	// DataLost is called for each job that a majority of nodes has lost. What the other nodes know is kept; if they know
	// nothing, the pause and the history are gone, and the ticks start again.
	DataLost func(job string)
	// Changed is called when the leader has stored what somebody has asked for: a pause, the end of one, or a trigger.
	Changed func(Change)
	// Missed is called for ticks that will not run, with their number and the reason.
	Missed func(job string, ticks int, reason string)
	// ClockSkew is called when the wall clock of this process is found to be off that of the nodes by more
	// than half a second, and when that has changed as much. Above zero it is ahead. Ticks follow the nodes.
	ClockSkew func(time.Duration)
}

// JoinHooks returns Hooks that call all of those given, in that order, on the same goroutine. What none of them has stays
// nil. If one panics, those after it are not called.
func JoinHooks(all ...Hooks) Hooks {
	var joined Hooks
	for _, h := range all {
		joined = Hooks{
			Started:   chain.Of1(joined.Started, h.Started),
			Finished:  chain.Of1(joined.Finished, h.Finished),
			Retrying:  chain.Of2(joined.Retrying, h.Retrying),
			Panicked:  chain.Of3(joined.Panicked, h.Panicked),
			Unclaimed: chain.Of3(joined.Unclaimed, h.Unclaimed),
			Fenced:    chain.Of2(joined.Fenced, h.Fenced),
			DataLost:  chain.Of1(joined.DataLost, h.DataLost),
			Changed:   chain.Of1(joined.Changed, h.Changed),
			Missed:    chain.Of3(joined.Missed, h.Missed),
			ClockSkew: chain.Of1(joined.ClockSkew, h.ClockSkew),
		}
	}
	return joined
}

func (h Hooks) started(r Run) {
	if h.Started != nil {
		h.Started(r)
	}
}

func (h Hooks) finished(r Record) {
	if h.Finished != nil {
		h.Finished(r)
	}
}

func (h Hooks) retrying(r Run, err error) {
	if h.Retrying != nil {
		h.Retrying(r, err)
	}
}

func (h Hooks) panicked(r Run, err error) {
	if p, ok := errors.AsType[*panicError](err); ok && h.Panicked != nil {
		h.Panicked(r, p.value, p.stack)
	}
}

func (h Hooks) unclaimed(job string, tick time.Time, err error) {
	if h.Unclaimed != nil {
		h.Unclaimed(job, tick, publicError("claim of", job, err))
	}
}

func (h Hooks) fenced(token, by uint64) {
	if h.Fenced != nil {
		h.Fenced(token, by)
	}
}

func (h Hooks) dataLost(job string) {
	if h.DataLost != nil {
		h.DataLost(job)
	}
}

func (h Hooks) changed(c Change) {
	if h.Changed != nil {
		h.Changed(c)
	}
}

func (h Hooks) missed(job string, ticks int, reason string) {
	if h.Missed != nil && ticks > 0 {
		h.Missed(job, ticks, reason)
	}
}

func (h Hooks) clockSkew(d time.Duration) {
	if h.ClockSkew != nil {
		h.ClockSkew(d)
	}
}
