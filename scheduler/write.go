package scheduler

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

const (
	// maxWrites and maxLazy bound how many calls are under way: enough for the nodes to work while answers travel, and few
	// enough that jobs of one instant gather in them.
	maxWrites = 4
	maxLazy   = 2

	// maxLazyJobs keeps a node free for the next tick.
	maxLazyJobs = 200
)

// writes is what is being stored.
type writes struct {
	calls  int // under way
	lazy   int // of these, the ones that no tick waits for
	seq    int
	ids    int
	failed time.Time // when the nodes have begun to fail; zero: they do not
}

// batch is what one call stores.
type batch struct {
	jobs   []*entry
	writes []jobstore.Write
	seq    int
	isLazy bool
}

// dispatch has the nodes store what is due, and returns how long nothing is.
func (l *loop) dispatch(now time.Time) time.Duration {
	w := &l.writes
	if l.ballot.Ballot == "" || l.ballot.taking || l.ballot.wanted && time.Until(l.ballot.at) <= 0 || l.ballot.fenced {
		return maxPoll // what ends that wakes the loop
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
	if w.calls == maxWrites || len(l.agenda) == 0 {
		return maxPoll
	}
	return l.agenda[0].wake.Sub(now)
}

// collect takes the jobs for which something is due.
func (l *loop) collect(now time.Time) batch {
	var b batch
	for len(b.jobs) < jobstore.MaxJobs {
		e := l.agenda.next(now)
		if e == nil {
			break
		}
		l.ask(e, now, &b)
	}
	return b
}

// collectLazy takes jobs of which something is to be written that no tick waits for: ends of runs, or else jobs that nodes lack.
func (l *loop) collectLazy(now time.Time) batch {
	b := batch{isLazy: true}
	for _, from := range []*line{&l.ends, &l.behind} {
		for len(b.jobs) < maxLazyJobs {
			e := from.pop()
			if e == nil {
				break
			}
			l.ask(e, now, &b)
		}
		if len(b.jobs) > 0 || l.writes.lazy > 0 {
			break
		}
	}
	return b
}

// ask has a job say what is to be written of it.
func (l *loop) ask(e *entry, now time.Time, b *batch) {
	l.writes.ids++
	var effects jobmachine.Effects
	e.machine, effects = jobmachine.Next(e.machine, jobmachine.Due{
		Now: now, Token: l.term.Token(), Replica: l.s.elector.Identity(),
		ID: l.ballot.own[0].ID() + strconv.FormatInt(int64(l.writes.ids), 36),
	})
	l.carryOut(e, effects)
	if effects.Write != nil {
		b.jobs, b.writes = append(b.jobs, e), append(b.writes, *effects.Write)
	}
	l.place(e)
}

// send has the nodes store a batch.
func (l *loop) send(b batch) {
	l.writes.calls++
	if b.isLazy {
		l.writes.lazy++
	}
	l.writes.seq++
	b.seq = l.writes.seq
	ballot, ctx := l.ballot.Ballot, context.WithoutCancel(l.stopping) // the end of a run may be written after the term
	l.work.Go(func() {                                                // ends by the node timeout; lead waits for it
		errs, forgot := l.s.store.Write(ctx, ballot, b.seq, b.writes)
		l.inbox.post(func() { l.written(b, ballot, errs, forgot) })
	})
}

// written does what follows from the nodes' answers.
func (l *loop) written(b batch, ballot jobstore.Ballot, errs []error, forgot []int) {
	l.writes.calls--
	if b.isLazy {
		l.writes.lazy--
	}
	now := l.clock.now()
	var problem error
	for i, e := range b.jobs {
		if errs[i] == nil {
			e.at = jobstore.At{Ballot: ballot, Seq: b.seq}
			l.apply(e, jobmachine.Stored{Now: now})
			continue
		}
		problem = errs[i]
		l.unstored(e, b.writes[i], errs[i], now)
	}
	l.logStored(b, problem, now)
	if len(forgot) > 0 && !l.ballot.wanted {
		l.wantBallot(0)
	}
}

// unstored has a write made anew.
func (l *loop) unstored(e *entry, w jobstore.Write, err error, now time.Time) {
	if l.isFenced(err) {
		l.apply(e, jobmachine.Failed{Now: now, Retry: now})
		return
	}
	if fencedByEarlier(err) && !l.ballot.wanted {
		l.wantBallot(0)
	}
	retry := now.Add(backoff.After(e.machine.Failures() + 1))
	if paused, ok := errors.AsType[*jobstore.PausedError](err); ok && isKind(err, jobstore.ErrPaused) {
		l.apply(e, jobmachine.Set{Pause: paused.Pause})
		if paused.Pause == e.machine.Pause() { // else it does not stand: the nodes are asked again after a while
			retry = now
		}
	}
	if e.machine.Failures() == 0 && w.Opens && !retry.Equal(now) {
		l.s.hooks.unclaimed(e.job.Name, w.State.Mark, err)
	}
	l.apply(e, jobmachine.Failed{Now: now, Retry: retry})
}

// fencedByEarlier reports that too few nodes do what is asked as an earlier leader has had a larger ballot promised.
func fencedByEarlier(err error) bool { return isKind(err, jobstore.ErrFenced) }

// logStored logs when the nodes begin to fail, and when they do so no more.
func (l *loop) logStored(b batch, problem error, now time.Time) {
	w := &l.writes
	switch {
	case problem != nil && isKind(problem, jobstore.ErrPaused):
	case problem != nil && w.failed.IsZero():
		w.failed = now
		l.log.Warn("failed to store what becomes of jobs, retrying: nothing starts meanwhile", zap.Int("jobs", len(b.jobs)),
			zap.Error(problem))
	case problem == nil && !w.failed.IsZero():
		l.log.Info("what becomes of jobs is stored again", zap.Duration("after", now.Sub(w.failed)))
		w.failed = time.Time{}
	}
}
