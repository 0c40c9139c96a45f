package scheduler

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// The nodes know jobs that a source does not have any more: some are removed, and some went while nobody led. The leader looks
// for them when it has loaded the source, and again and again.

const (
	sweepEvery   = time.Hour
	sweepTimeout = time.Minute // with a node that does not answer, each job that is forgotten takes a node timeout or two
	// keepGone is how long the nodes keep what they know of a removed job.
	keepGone = 24 * time.Hour
)

// isUnloaded reports whether the entry is that of a source that has not been loaded in this term. Until then nobody can tell
// which jobs the leader has.
func (e *entry) isUnloaded() bool { return e.job.loads != nil && e.swept.IsZero() }

// firstLoad returns a trigger with which a source is loaded at once.
func (l *loop) firstLoad(e *entry, now time.Time) jobmachine.Asked {
	state := e.machine.State()
	return jobmachine.Asked{Now: now, Request: jobstore.Request{Verb: jobstore.ToTrigger, Setting: jobstore.Setting{
		Mark:   jobstore.Mark{Version: max(now.UnixMicro(), state.Manual.Version+1), ID: jobstore.NewID()[:6]},
		Made:   now,
		Origin: jobstore.Origin{From: l.s.elector.Identity(), Why: "the first load of a term"},
	}}}
}

// loadAgain triggers the first loads that have failed and are not tried again otherwise, as the source is paused.
func (l *loop) loadAgain(now time.Time) {
	for _, e := range l.sources {
		if e.isUnloaded() && e.machine.IsPrepared() && e.machine.IsAtRest() && len(e.machine.State().Open) == 0 {
			l.apply(e, l.firstLoad(e, now))
		}
	}
}

// loaded takes over what a load has changed.
func (l *loop) loaded(src *source, rows map[string]row) {
	if l.sync(maxChanges) {
		l.inbox.post(func() { l.loaded(src, rows) })
		return
	}
	if e := l.entries[src.Name]; time.Since(e.swept) >= sweepEvery {
		e.swept = time.Now()
		l.work.Go(func() { l.sweep(src, rows) }) // ends when the leader stops; lead waits for it
	}
}

// sweep removes the jobs that earlier leaders had and the source does not have, and makes the nodes forget those that were
// removed a day ago. What it does not get to, the next sweep does.
func (l *loop) sweep(src *source, rows map[string]row) {
	ctx, cancel := context.WithTimeout(l.stopping, sweepTimeout)
	defer cancel()
	var left []*job
	for v, now := range l.s.stored(ctx, src) {
		_, is := rows[v.Job]
		switch {
		case is: // a bad row as well
		case !v.State.Removed:
			j := &job{Job: Job{Name: v.Job}, schedule: never, plan: v.State.Plan}
			j.machine = jobmachine.Job{Name: v.Job, Plan: v.State.Plan, Schedule: never}
			j.removed.Store(true)
			left = append(left, j)
		case v.State.Mark.Before(now.Add(-keepGone)) && l.s.Forget(ctx, v.Job) == nil:
			l.log.Info("forgot a job that its source has not had for a day", zap.String("job", v.Job))
		}
	}
	l.inbox.post(func() {
		for _, j := range left {
			if l.entries[j.Name] == nil && !l.drained {
				l.enter(j, l.clock.latest)
			}
		}
	})
}

// stored yields what the nodes know of a source's jobs, and the time by their clocks. It skips what cannot be read, and ends
// early if too few nodes answer.
func (s *Scheduler) stored(ctx context.Context, src *source) iter.Seq2[*jobstore.View, time.Time] {
	return func(yield func(*jobstore.View, time.Time) bool) {
		for after := src.prefix; after != ""; {
			page, err := s.store.Page(ctx, after, jobstore.MaxJobs)
			if err != nil {
				return
			}
			for _, v := range page.Views() {
				if !strings.HasPrefix(v.Job, src.prefix) || v.Err == nil && !yield(&v, page.Now) {
					return
				}
			}
			after = page.Next
		}
	}
}

// whyUnloaded returns which source cannot be loaded, or has bad rows.
func (l *loop) whyUnloaded() error {
	for _, e := range l.sources {
		state, cause := e.machine.State(), errors.New("its first load has not returned")
		if state.Failures > 0 && state.Last != nil {
			cause = errors.New(state.Last.Err)
		}
		switch {
		case e.isUnloaded():
			return fmt.Errorf("scheduler: this process leads, and the jobs of the source %q do not run before it is loaded: %w", e.job.Name, cause)
		case state.Failures > 0:
			return fmt.Errorf("scheduler: the source %q: its last load has failed: %w", e.job.Name, cause)
		}
	}
	return nil
}
