package scheduler

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

const (
	// maxWrites and maxLazy bound the calls under way. That is enough for the nodes to work while answers travel, and few
	// enough that jobs of one instant share a call.
	maxWrites = 4
	maxLazy   = 2

	// maxLazyJobs keeps a node free for the next tick.
	maxLazyJobs = 200
)

// writes is the state of the writes to the nodes.
type writes struct {
	calls   int                 // under way
	lazy    int                 // calls under way that no tick waits for
	seq     int                 // number of the last write under this ballot
	ids     int                 // number of the last run
	failed  time.Time           // when writes began to fail; zero: they do not fail
	problem error               // of the last one that failed
	jobs    map[*entry]struct{} // jobs whose last write has failed
}

// batch has the jobs that one call writes.
type batch struct {
	jobs   []*entry
	writes []*jobstore.Write
	seq    int
	isLazy bool
}

// dispatch sends the writes that are due to the nodes, and returns the pause before the next call.
func (l *loop) dispatch(now time.Time) time.Duration {
	w := &l.writes
	if l.ballot.Ballot == "" || l.ballot.taking || l.ballot.fenced || l.isBallotDue() || !l.all.machine.IsPrepared() || !l.hasPolled() {
		return maxPoll // the event that ends this state wakes the loop
	}
	for w.calls < maxWrites {
		if b := l.collect(now); len(b.jobs) > 0 {
			l.send(b)
			continue
		}
		if w.lazy >= maxLazy {
			break
		}
		b := l.collectLazy(now)
		if len(b.jobs) == 0 {
			break
		}
		l.send(b)
	}
	switch {
	case w.calls == maxWrites:
		return maxPoll
	case len(l.ready.entries) > 0:
		return 0
	case len(l.agenda) == 0:
		return maxPoll
	}
	return l.agenda[0].wake.Sub(now)
}

// collect returns a batch of writes that are due. It looks at as many jobs as one call can write. Half of them may come
// from the ready queue, so that new jobs and ticks do not hold each other up.
func (l *loop) collect(now time.Time) batch {
	var b batch
	for i := range jobstore.MaxJobs {
		e := l.agenda.next(now)
		if e == nil || i%2 == 1 {
			e = cmp.Or(l.ready.pop(), e)
		}
		if e == nil {
			break
		}
		l.add(e, now, &b)
	}
	return b
}

// collectLazy returns a batch of writes that no tick waits for: ends of runs or, if there are none, jobs that nodes lack. Jobs
// that nodes lack wait while other jobs cannot tick yet.
func (l *loop) collectLazy(now time.Time) batch {
	b := batch{isLazy: true}
	queues := []*queue{&l.ends, &l.behind}
	if l.prepares.areRunning() {
		queues = queues[:1]
	}
	for _, from := range queues {
		for len(b.jobs) < maxLazyJobs {
			e := from.pop()
			if e == nil {
				break
			}
			l.add(e, now, &b)
		}
		if len(b.jobs) > 0 || l.writes.lazy > 0 {
			break
		}
	}
	return b
}

// add adds a job's write to a batch, if the job's machine wants one.
func (l *loop) add(e *entry, now time.Time, b *batch) {
	l.writes.ids++
	write := l.apply(e, jobmachine.Due{
		Now: now, Token: l.term.Token(), Replica: l.s.elector.Identity(),
		ID: l.id + strconv.FormatInt(int64(l.writes.ids), 36), Urgent: !b.isLazy,
	})
	if write != nil {
		b.jobs, b.writes = append(b.jobs, e), append(b.writes, write)
	}
}

// send sends a batch to the nodes.
func (l *loop) send(b batch) {
	l.writes.calls++
	if b.isLazy {
		l.writes.lazy++
	}
	l.writes.seq++
	b.seq = l.writes.seq
	if b.seq >= l.s.maxSeq {
		l.wantBallot(time.Now())
	}
	ballot, ctx := l.ballot.Ballot, context.WithoutCancel(l.stopping) // ends of runs may be written after the term
	l.work.Go(func() {                                                // ends by the node timeout; lead waits for it
		errs, unserved := l.s.store.Write(ctx, ballot, b.seq, b.writes, func(node int, writes []int, later int) {
			l.inbox.post(func() {
				for _, i := range writes {
					l.lacks.add(node, b.jobs[i])
				}
				if later > l.writes.seq && ballot == l.ballot.Ballot { // the node has a number that nobody has used
					l.wantBallot(l.ballot.demands.allows(node))
				}
			})
		})
		l.inbox.post(func() { l.written(b, ballot, errs, unserved) })
	})
}

// written applies the nodes' answers.
func (l *loop) written(b batch, ballot jobstore.Ballot, errs []error, unserved []*jobstore.UnservedError) {
	l.writes.calls--
	if b.isLazy {
		l.writes.lazy--
	}
	now := l.clock.now()
	var problem error
	for i, e := range b.jobs {
		if errs[i] == nil {
			l.apply(e, jobmachine.Stored{Now: now, At: jobstore.At{Ballot: ballot, Seq: b.seq}})
			continue
		}
		if l.unstored(e, b.writes[i], errs[i], now) {
			problem = errs[i]
		}
	}
	l.logStored(b, problem, now)
	if len(unserved) > 0 { // under a larger ballot, what these nodes may have lost counts less
		l.polls.notice()
	}
	l.wantFor(unserved, problem != nil && isKind(problem, jobstore.ErrNoQuorum))
}

// unstored schedules a retry of a write that too few nodes stored. It returns false if the nodes serve a later leader: they will
// not store it, and the end of this term is logged anyway.
func (l *loop) unstored(e *entry, w *jobstore.Write, err error, now time.Time) bool {
	if l.isFenced(err) {
		l.apply(e, jobmachine.Failed{Now: now, Retry: now})
		return false
	}
	if fencedByEarlier(err) {
		l.wantBallot(time.Now())
	}
	if e.machine.Failures() == 0 && w.Opens {
		l.s.hooks.unclaimed(e.job.Name, w.State.Mark, err)
	}
	l.apply(e, jobmachine.Failed{Now: now, Retry: now.Add(backoff.After(e.machine.Failures() + 1))})
	return true
}

// fencedByEarlier reports whether a call failed because the nodes have promised a larger ballot. Call it only if isFenced has
// returned false, so that the ballot is not a later leader's.
func fencedByEarlier(err error) bool { return isKind(err, jobstore.ErrFenced) }

// logStored logs when writes begin to fail, and when the writes of all jobs have succeeded again.
func (l *loop) logStored(b batch, problem error, now time.Time) {
	w := &l.writes
	w.problem = cmp.Or(problem, w.problem)
	switch {
	case problem != nil && w.failed.IsZero():
		w.failed = now
		l.log.Warn("failed to store the state of jobs, retrying: nothing starts meanwhile", zap.Int("jobs", len(b.jobs)),
			zap.Error(problem))
	case len(w.jobs) == 0 && !w.failed.IsZero():
		l.log.Info("the state of jobs is stored again", zap.Duration("after", now.Sub(w.failed)))
		w.failed = time.Time{}
	}
}
