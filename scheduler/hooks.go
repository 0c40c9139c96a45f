package scheduler

import (
	"errors"
	"time"
)

// Hooks report what a Scheduler does, for metrics and traces. Any may be nil. Each is called on the goroutine that does what it
// reports, never under a lock, and may call any method. A hook that blocks holds up that run, or the ticks of all jobs.
type Hooks struct {
	// Started is called before the job's Run, after a majority of nodes has stored the start. It is not called for a retry by
	// the process that made the attempt before.
	Started func(Run)
	// Finished is called for each record that this process has stored: of its own runs, of ticks that it skipped because of a
	// run under way, and of runs of earlier leaders that were lost. A record of skipped ticks has only those since the last call,
	// although the history has one row for all that come during one run. Finished is also called for a run of this process whose
	// end could not be stored before the term was over.
	Finished func(Record)
	// Overrun is called once for a run that has not returned a second after the job's Timeout, on a goroutine of its own. Nothing
	// can end such a run from outside: it counts as under way until it returns or its process ends. The run ends only after
	// Overrun has returned.
	Overrun func(Run)
	// Retrying is called when an attempt has failed and another one follows, in this process or in that of the next leader.
	Retrying func(Run, error)
	// Panicked is called when an attempt has panicked, with the value and the stack. Retrying or Finished is called after it.
	Panicked func(run Run, value any, stack []byte)
	// Unclaimed is called when too few nodes have stored the start of a run, once for several attempts in a row. The leader
	// retries. err wraps redlock.ErrNoQuorum, and says what each node answered.
	Unclaimed func(job string, tick time.Time, err error)
	// Fenced is called when the nodes serve a leader with a token larger than this term's: another process leads, or has led
	// since. The tokens are the same if another scheduler writes in this term. This leader can store nothing any more, so its
	// term ends. The next term's token is larger.
	Fenced func(token, by uint64)
	// DataLost is called for each job that a majority of nodes has lost. The state that the other nodes have is kept. If they
	// have none, or all came back with older files, the leader goes on from what this process has seen of the job: in its last
	// term, or in the last five minutes. What the history lacks is gone. If the process has seen nothing of it, DataLost is not
	// called, and the ticks start again without the pause.
	DataLost func(job string)
	// Changed is called when the leader has stored that it applies a pause, a resume or a trigger.
	Changed func(Change)
	// Missed is called for ticks that will not run, with their number and the reason.
	Missed func(job string, ticks int, reason string)
	// ClockSkew is called when the wall clock of this process differs from the nodes' clock by more than half a second, and
	// when the difference has changed by that much. Positive means ahead. Ticks follow the nodes' clock.
	ClockSkew func(time.Duration)
}

// hooks are those of every WithHooks, which are called in order, on the same goroutine.
type hooks []Hooks

func (all hooks) started(r Run) {
	for _, h := range all {
		if h.Started != nil {
			h.Started(r)
		}
	}
}

func (all hooks) finished(r Record) {
	for _, h := range all {
		if h.Finished != nil {
			h.Finished(r)
		}
	}
}

func (all hooks) overrun(r Run) {
	for _, h := range all {
		if h.Overrun != nil {
			h.Overrun(r)
		}
	}
}

func (all hooks) retrying(r Run, err error) {
	for _, h := range all {
		if h.Retrying != nil {
			h.Retrying(r, err)
		}
	}
}

func (all hooks) panicked(r Run, err error) {
	p, ok := errors.AsType[*panicError](err)
	for _, h := range all {
		if ok && h.Panicked != nil {
			h.Panicked(r, p.value, p.stack)
		}
	}
}

func (all hooks) unclaimed(job string, tick time.Time, err error) {
	for _, h := range all {
		if h.Unclaimed != nil {
			h.Unclaimed(job, tick, publicError("claim of", job, err))
		}
	}
}

func (all hooks) fenced(token, by uint64) {
	for _, h := range all {
		if h.Fenced != nil {
			h.Fenced(token, by)
		}
	}
}

func (all hooks) dataLost(job string) {
	for _, h := range all {
		if h.DataLost != nil {
			h.DataLost(job)
		}
	}
}

func (all hooks) changed(c Change) {
	for _, h := range all {
		if h.Changed != nil {
			h.Changed(c)
		}
	}
}

func (all hooks) missed(job string, ticks int, reason string) {
	for _, h := range all {
		if h.Missed != nil && ticks > 0 {
			h.Missed(job, ticks, reason)
		}
	}
}

func (all hooks) clockSkew(d time.Duration) {
	for _, h := range all {
		if h.ClockSkew != nil {
			h.ClockSkew(d)
		}
	}
}
