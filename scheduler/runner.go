package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/caller"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
)

// runner has the runs of a term. Each run has its own goroutine, which ends when the job's Run returns. The run's context tells
// it to return, and wait waits for it.
type runner struct {
	elector  *election.Elector
	term     *election.Term
	stopping context.Context
	log      *zap.Logger
	hooks    hooks
	returned func(job string, r jobmachine.Returned) // called at the end of each run

	wg sync.WaitGroup

	mu   sync.Mutex // guards runs
	runs map[string]*active
}

// active is an attempt of a run under way. Only telling changes, because other goroutines read it.
type active struct {
	Run
	id     string
	job    *job
	tries  int           // attempts that are left, with this one
	took   time.Duration // by the earlier attempts of this term, with their pauses
	opened time.Time     // when this attempt begins, by the nodes' clock
	wait   time.Duration // delay before the run begins
	since  time.Time     // when the run begins
	cancel context.CancelCauseFunc

	telling atomic.Pointer[time.Time] // since when a hook or the logger holds it up; nil: none does
}

// tell calls a hook or the logger. The run ends only after that has returned.
func (a *active) tell(fn func()) {
	now := time.Now()
	if a.telling.CompareAndSwap(nil, &now) { // else watch tells something at the same time
		defer a.telling.Store(nil)
	}
	fn()
}

// start starts a run whose start is stored, or its next attempt. now is by the nodes' clock.
func (r *runner) start(j *job, s jobmachine.Start, now time.Time) {
	// The callback's context ends too early: a run may finish while the leader drains.
	ctx, cancel := context.WithCancelCause(r.term.Context())
	o, wait := s.Open, max(s.At.Sub(now), 0)
	took := max(s.At.Sub(o.Start), 0)
	opened := o.Start
	if took > 0 {
		opened = now.Add(wait)
	}
	a := &active{
		Run: Run{
			Job: j.Name, Tick: o.Slot.At, Token: o.Token, Attempt: o.Attempt, Manual: o.Slot.Manual, Rerun: o.Slot.Again,
			CaughtUp: o.Late,
		},
		id: o.ID, job: j, tries: o.Tries, took: took, opened: opened, wait: wait, since: time.Now().Add(wait), cancel: cancel,
	}
	r.mu.Lock()
	r.runs[a.id] = a
	r.mu.Unlock()
	r.wg.Go(func() { r.do(caller.With(ctx, "the run of job", a.Job, a), a) })
}

// cancel ends the context of a run.
func (r *runner) cancel(id string, cause error) {
	r.mu.Lock()
	a := r.runs[id]
	r.mu.Unlock()
	if a != nil {
		a.cancel(cause)
	}
}

// leave removes a run that has returned.
func (r *runner) leave(a *active) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, a.id)
}

// notFromInside returns an error if a call with this context comes from a run under way: of that job, or of any if job is "".
func (r *runner) notFromInside(ctx context.Context, job string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return caller.Where(ctx, func(owner any) bool {
		a, isRun := owner.(*active)
		return isRun && r.runs[a.id] == a && (job == "" || job == a.Job)
	})
}

// heldUp returns the run that a hook or the logger has held up for the longest: of that job, or of any if job is "". It returns nil
// if none was held up for longer than the TTL.
func (r *runner) heldUp(job string) (longest *inside.Trouble) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.runs {
		since := a.telling.Load()
		if since == nil || job != "" && a.Job != job || time.Since(*since) <= r.elector.Settings().TTL {
			continue
		}
		if longest == nil || since.Before(longest.Since) {
			err := fmt.Errorf("scheduler: a hook or the logger has held up %s for %v: %w", a.Key(),
				time.Since(*since).Round(time.Millisecond), election.ErrRestart)
			longest = &inside.Trouble{Err: err, Since: *since}
		}
	}
	return longest
}

func (r *runner) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.runs)
}

func (r *runner) wait() { r.wg.Wait() }

// after calls fn on a goroutine of its own when d has passed, unless the function that it returns is called before. That function
// ends fn's context, and waits until fn has returned. The context has the values of base, and not its end.
func after(base context.Context, d time.Duration, fn func(ctx context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(base))
	done := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		defer close(done)
		fn(ctx)
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-done
		}
	}
}

// underway describes the runs that have not returned.
func (r *runner) underway() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var runs []string
	for _, a := range r.runs {
		runs = append(runs, fmt.Sprintf("%s for %v", a.Key(), time.Since(a.since).Round(time.Millisecond)))
	}
	slices.Sort(runs)
	return runs
}
