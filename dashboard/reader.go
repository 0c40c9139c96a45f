package dashboard

import (
	"context"
	"errors"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	every     = 5 * time.Second  // shortest time between two reads
	waitLimit = 10 * time.Second // timeout of a read, which usually takes a few node timeouts at most
)

// snapshot is what the nodes knew at one time. A part that could not be read keeps its last value, and its age.
type snapshot struct {
	taken  time.Time // when, by this process's clock
	now    time.Time // the same by the nodes' clock
	nodes  []redlock.NodeStatus
	leader part[election.Leader] // zero: nobody leads
	jobs   part[[]scheduler.Status]
	terms  part[[]termlog.Record]
}

// part is a value that was read, and when.
type part[T any] struct {
	value T
	at    time.Time // by the nodes' clock; zero: never
	err   error     // why the last read failed
}

func (p part[T]) read(at time.Time, value T, err error) part[T] {
	if err != nil {
		p.err = err
		return p
	}
	return part[T]{value: value, at: at}
}

const notKnown = "not known"

// stale returns a problem if the last read of the part failed, and none otherwise.
func (p part[T]) stale(what string, now time.Time) []problem {
	if p.err == nil {
		return nil
	}
	known := notKnown
	if !p.at.IsZero() {
		known = "as of " + relative(p.at, now)
	}
	return []problem{{what, known, firstLine(p.err.Error()), true}}
}

// reader reads the state of the nodes, once for all pages.
type reader struct {
	elector   *election.Elector
	scheduler *scheduler.Scheduler
}

func (r *reader) read(ctx context.Context, last *view) *view {
	var before snapshot
	if last != nil {
		before = *last.of
	}
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()

	s := &snapshot{nodes: r.elector.Locker().Nodes(ctx)} // first, because it also learns the nodes' time
	s.taken, s.now = time.Now(), r.now()
	leader, err := r.elector.Leader(ctx)
	if errors.Is(err, election.ErrNoLeader) {
		err = nil
	}
	s.leader = before.leader.read(s.now, leader, err)
	jobs, err := r.scheduler.Jobs(ctx)
	s.jobs = before.jobs.read(s.now, jobs, err)
	terms, err := termlog.Read(ctx, r.elector.Locker(), r.elector.Name())
	s.terms = before.terms.read(s.now, terms, err)
	return newView(s, r.elector.Name())
}

// history reads the records and the changes of one job.
func (r *reader) history(ctx context.Context, job string, last history) history {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	records, err := r.scheduler.History(ctx, job, maxRecords)
	last.records = last.records.read(r.now(), records, err)
	changes, err := r.scheduler.Changes(ctx, job)
	last.changes = last.changes.read(r.now(), changes, err)
	return last
}

// now returns the time by the nodes' clock if it is known, and by this process's clock otherwise.
func (r *reader) now() time.Time {
	if now, ok := r.elector.Locker().Time(); ok {
		return now
	}
	return time.Now().UTC()
}
