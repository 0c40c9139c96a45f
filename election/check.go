package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/lists"
	"github.com/redlockfx/redlockfx/internal/nodeclock"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	// maxBookkeeping is how long a callback may go on after the work that it names without being late. A Scheduler needs it to write
	// the ends of runs while nodes do not answer.
	maxBookkeeping = 10 * time.Second

	// lasting is how long a state that may end by itself must have lasted to be a problem.
	lasting = time.Minute

	inspectEvery = time.Minute // Run looks for problems
	repeatEvery  = time.Hour   // it logs one that lasts
)

// Problem is a state that keeps work from being done, and that does not end by itself.
type Problem struct {
	Err   error     // with what to do; it is an [ErrRestart] if a restart of this process helps
	Since time.Time // when it began
}

// Check returns nil while this process takes part in the election as it should. That is so while it leads or follows, while Redis
// does not answer, and while Run is not running. Otherwise the error joins those of all [Elector.Problems].
//
// Use it for an alert. A liveness probe should fail only if the error is an [ErrRestart], because a restart does not help with other
// problems.
func (e *Elector) Check() error {
	var all []error
	for _, p := range e.Problems() {
		all = append(all, p.Err)
	}
	return errors.Join(all...)
}

// Problems returns the problems of now. These are an [ErrRestart]:
//   - work outlives its lease ([ErrUndrained]);
//   - a hook, the logger or the panic handler has held up Run, or the ticks of jobs, for longer than the TTL;
//   - the Locker is closed, so this process can never lead again;
//   - for a minute, this process has led while its Scheduler was shut down, while a hook or the logger has held up a run, or has
//     not started a tick for no known reason.
//
// With these a restart does not help. They have lasted for a minute:
//   - this process leads, and too few nodes serve its Scheduler;
//   - nobody can lead, because the clocks of the nodes differ too much or were stepped, or because of the list of nodes; while that waits
//     for nodes, for a minute and the MaxTTL;
//   - this process leads, and cannot load a source of jobs, or refuses rows of it;
//   - somebody else has led for some minutes, and does not have jobs of this process (the first 10,000), or does not start them.
//
// Run logs each of them when it has found it, and every hour while it lasts.
func (e *Elector) Problems() []Problem {
	e.mu.Lock()
	t, failed, jobs := e.term, e.failed, e.partner.Problems
	e.mu.Unlock()
	restart := append(e.heldUp(), e.late(t)...)
	if failed != nil {
		restart = append(restart, *failed)
	}
	var all []Problem
	for _, p := range restart {
		all = append(all, Problem{fmt.Errorf("%w: %w", p.Err, ErrRestart), p.Since})
	}
	var others []inside.Trouble
	if p := e.nodes.Load(); p != nil {
		others = append(others, *p)
	}
	if p := e.list.Load(); p != nil && time.Since(p.Since) >= lasting+e.locker.Settings().MaxTTL { // until then, it may be in use
		others = append(others, *p)
	}
	if jobs != nil {
		others = append(others, jobs()...)
	}
	for _, p := range others {
		if time.Since(p.Since) >= lasting {
			all = append(all, Problem(p))
		}
	}
	return all
}

// reportProblems logs each problem when it is found, and again while it lasts. It ends with ctx.
func (e *Elector) reportProblems(ctx context.Context) {
	said := make(map[time.Time]time.Time) // when a problem was logged, by its start
	for retry.Sleep(ctx, inspectEvery) == nil {
		all := e.Problems()
		lasts := make(map[time.Time]time.Time, len(all))
		for _, p := range all {
			at := said[p.Since]
			if time.Since(at) >= repeatEvery {
				at = time.Now()
				e.log.Error("a problem does not end by itself: somebody must act", zap.Time("since", p.Since),
					zap.Bool("restart_helps", errors.Is(p.Err, ErrRestart)), zap.Error(p.Err))
			}
			lasts[p.Since] = at
		}
		if len(all) == 0 && len(said) > 0 {
			e.log.Info("no problems any more")
		}
		said = lasts
	}
}

// late returns work of the term that outlives its lease.
func (e *Elector) late(t *Term) []inside.Trouble {
	if t == nil || t.Valid() {
		return nil
	}
	if late := t.late(); late > 0 && len(e.stillRunning()) > 0 || late > maxBookkeeping && !isDone(e.whenIdle()) {
		over := t.lease.Deadline()
		err := fmt.Errorf("%w; the lease of term %d was over at %s", e.undrained(), t.Token(), over.Format(time.RFC3339))
		return []inside.Trouble{{Err: err, Since: over}}
	}
	return nil
}

// heldUp returns what has held up Run, or the ticks of jobs, for longer than the TTL.
func (e *Elector) heldUp() (all []inside.Trouble) {
	add := func(what string, since time.Time) {
		if took := time.Since(since); took > e.config.TTL {
			err := fmt.Errorf("election: %q: %s has not returned for %v", e.name, what, took.Round(time.Millisecond))
			all = append(all, inside.Trouble{Err: err, Since: since})
		}
	}
	if since := e.inApp.Load(); since != nil {
		add("a hook or the logger", *since)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.running {
		if what, since := w.doing.Busy(); what != "" {
			add(what, since)
		}
	}
	return all
}

// callApp calls hooks and the logger on the goroutine of Run, and lets Check see how long that takes.
func (e *Elector) callApp(fn func()) {
	now := time.Now()
	e.inApp.Store(&now)
	defer e.inApp.Store(nil)
	fn()
}

// seeNodes records whether an attempt to lead has failed because of the nodes' clocks or list, or for a reason that retrying does not
// remove.
func (e *Elector) seeNodes(err error) {
	if _, led := redlock.HeldBy(err); !led && errors.Is(err, redlock.ErrHeld) {
		return // other candidates hold votes, which says nothing of the clocks
	}
	var blame, listed error
	if q, ok := errors.AsType[*redlock.QuorumError](err); ok && q.Got < q.Need {
		votes, waits := q.Got, false
		for _, n := range q.Nodes {
			if _, untrusted := errors.AsType[nodeclock.Untrusted](n.Err); untrusted {
				votes++
			}
			_, listless := errors.AsType[lists.Problem](n.Err)
			waits = waits || listless
		}
		if votes >= q.Need {
			blame = fmt.Errorf("election: %q: nobody can lead because of the nodes' clocks: synchronize them: %w", e.name, err)
		}
		if waits && !errors.Is(err, redlock.ErrHeld) {
			listed = fmt.Errorf("election: %q: nobody can lead, because a list of nodes that is new or changes needs all of them: start "+
				"those that do not answer, or accept the others with redlockctl nodes --join: %w", e.name, err)
		}
	}
	if errors.Is(err, redlock.ErrConfig) {
		blame = fmt.Errorf("election: %q: nobody can lead with these nodes: %w", e.name, err)
	}
	e.nodes.Store(e.nodes.Load().Next(blame))
	e.list.Store(e.list.Load().Next(listed))
}
