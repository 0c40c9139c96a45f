package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/redlock"
)

// lane is what one name has under way. The loop's mutex guards it.
type lane struct {
	runs     []*active // more than one only where ticks are allowed beside each other
	replaced bool      // these have been told that another tick has come
	foreign  bool      // a run of an earlier leader may be under way
	claims   int       // under way: each may start a run
}

func (l *lane) isIdle() bool { return len(l.runs) == 0 && !l.foreign && l.claims == 0 }

// active is a run under way.
type active struct {
	Run
	id      string // of the claim
	claimed int    // attempt that the claim was for
	jumped  int    // ticks that the claim left out
	from    time.Time
	job     *job
	lane    *lane
	wait    time.Duration // until its tick
	start   time.Time     // by the nodes' clock
	since   time.Time
	first   bool // it has to see whether a run of an earlier leader is under way
	cancel  context.CancelCauseFunc
}

func (l *loop) laneLocked(name string) *lane {
	if l.lanes[name] == nil {
		l.lanes[name] = &lane{}
	}
	return l.lanes[name]
}

// startLocked starts a run. Its goroutine ends when the job's Run returns; it is told to by the
// run's context, and lead waits for it.
func (l *loop) startLocked(c claim) *active {
	// Not the callback's context: a run may be finished while the leader drains.
	ctx, cancel := context.WithCancelCause(l.term.Context())
	e := c.entry
	var wait time.Duration
	if now, ok := l.s.elector.Locker().Time(); ok {
		wait = min(max(e.job.start(c.slot.At).Sub(now), 0), e.early())
	}
	r := &active{
		Run: Run{
			Job: e.job.Name, Tick: c.slot.At, Token: l.term.Token(), Attempt: c.record.Attempt,
			Manual: c.slot.Manual, CaughtUp: c.late,
		},
		id: c.record.Run, claimed: c.record.Attempt, jumped: c.record.Jumped, from: c.record.From,
		job: e.job, lane: e.lane, first: e.lane.foreign && e.job.Overlap != Allow, cancel: cancel,
		wait: wait, start: c.record.Start, since: time.Now().Add(wait),
	}
	e.lane.foreign = false
	e.lane.runs = append(e.lane.runs, r)
	l.runs.Go(func() { l.do(ctx, r) })
	return r
}

// leave takes a run that has returned out of its lane, and has what waits for it looked at.
func (l *loop) leave(r *active) {
	l.mu.Lock()
	r.lane.runs = slices.DeleteFunc(r.lane.runs, func(other *active) bool { return other == r })
	if len(r.lane.runs) == 0 {
		r.lane.replaced = false
	}
	if e := l.entries[r.Job]; e != nil {
		e.queued = false
		e.waited = e.job.Overlap == Queue || e.job.Overlap == Replace
		l.agenda.put(e)
	}
	l.mu.Unlock()
	l.rouse()
}

// Overlap across leaders: a run that goes on although its term is over holds a lease of its own, by which the
// next leader knows. A term outlives the start of a run by the stop margin, so only runs that take long need
// one; and only the first run after one whose end is not known needs to look.

// lock is the name of that lease. It fits whatever the names of election and job are.
func (r *active) lock(election string) string {
	sum := sha256.Sum256([]byte(election + "\x00" + r.Job))
	return "run:" + hex.EncodeToString(sum[:16])
}

// alone waits until no run of an earlier leader is under way, for a TTL: a lease that is still there then is
// extended by somebody. The error says that the tick is to be skipped.
func (l *loop) alone(ctx context.Context, r *active) (release func(), err error) {
	locker := l.s.elector.Locker()
	wait := ctx
	if r.job.Overlap == Skip {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, locker.Settings().MaxTTL+time.Second)
		defer cancel()
	}
	lease, err := locker.Acquire(wait, r.lock(l.s.elector.Name()), l.extension())
	if err != nil {
		return nil, fmt.Errorf("%w of an earlier leader: %w", errOverlap, err)
	}
	return func() { l.release(lease) }, nil
}

// hold takes the lease when the run has taken long. It returns what ends that, and the lease.
func (l *loop) hold(ctx context.Context, r *active) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { // told by cancel, waited for through done
		defer close(done)
		locker := l.s.elector.Locker()
		timer := time.NewTimer(locker.Settings().TTL / 20)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		lease, err := locker.Acquire(ctx, r.lock(l.s.elector.Name()), l.extension())
		if err != nil {
			if ctx.Err() == nil {
				l.log.Warn("a run has no lease of its own: the next leader would not know that it is under way",
					append(r.fields(nil), zap.Error(err))...)
			}
			return
		}
		<-ctx.Done()
		l.release(lease)
	}()
	return func() { cancel(); <-done }
}

func (l *loop) extension() redlock.AcquireOption {
	s := l.s.elector.Locker().Settings()
	return redlock.WithAutoExtend(redlock.Extension{Every: s.TTL / 3, Attempts: 3})
}

func (l *loop) release(lease *redlock.Lease) {
	ctx, cancel := l.writing()
	defer cancel()
	if err := lease.Release(ctx); err != nil && !errors.Is(err, redlock.ErrExpired) {
		l.log.Debug("the lease of a run is left to run out", zap.Error(err))
	}
}

// writing is the context of what is written about a run: the term may be over.
func (l *loop) writing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(l.draining), patience)
}

// underway describes the runs that have not returned.
func (l *loop) underway() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var runs []string
	for _, lane := range l.lanes {
		for _, r := range lane.runs {
			age := time.Since(r.since).Round(time.Millisecond)
			runs = append(runs, fmt.Sprintf("%s for %v", r.Key(), age))
		}
	}
	slices.Sort(runs)
	return runs
}
