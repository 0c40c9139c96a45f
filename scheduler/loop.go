package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/doing"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
)

const (
	// maxPoll bounds how long a change of the nodes' clock stays unnoticed.
	maxPoll = 5 * time.Minute

	// endTimeout bounds the writes after the last run of a term has returned. They usually take a node timeout or two.
	endTimeout = 5 * time.Second
)

// backoff spaces retries while nodes do not answer.
var backoff = retry.Backoff{Min: 50 * time.Millisecond, Max: time.Second}

// loop runs the ticks of one term. The goroutine of [Scheduler.lead] owns all its fields. Other goroutines post events to the
// inbox, such as an answer of the nodes or the end of a run.
type loop struct {
	s        *Scheduler
	term     *election.Term
	id       string          // random; begins the IDs of the term's runs
	stopping context.Context // done when no run may be opened any more, at the latest with the term
	log      *zap.Logger
	clock    nodesClock
	inbox    *inbox
	runner   *runner
	work     sync.WaitGroup // calls to the nodes; each ends by its node timeout
	done     chan struct{}  // closed when all runs have returned, and no more will start

	entries map[string]*entry
	all     *entry   // the pause of all jobs
	sources []*entry // of them, those whose runs load a source
	agenda  agenda   // jobs that need action at a known instant
	ready   queue    // jobs whose state was just read from the nodes
	ends    queue    // jobs with ends of runs to store
	behind  queue    // jobs whose newest state some nodes may lack
	lacks   lacks    // jobs whose newest state a node has not stored
	busy    map[*entry]struct{}

	ballot   ballot
	prepares prepares
	writes   writes
	polls    polls

	idle    atomic.Pointer[inside.Trouble] // why nothing starts, or not all that is due; nil: all is well
	past    *inside.Trouble                // idle at the end of the term before, if this is the same trouble; nil: it is not
	overdue error                          // ticks that nothing explains, as of the last scan
	named   *entry                         // whose job that scan has named; nil: none
	scanAt  time.Time                      // when to look for them next

	ended   time.Time // when the term's callback returned; guarded by Scheduler.mu
	drained bool      // no run is opened any more
	giveUp  time.Time // when to stop retrying the last writes; zero while runs are under way
}

var errLoopEnded = errors.New("scheduler: a panic or runtime.Goexit of a hook or the logger ended the loop")

// lead is the leader's callback. It returns after the runs of the term have returned. The elector renews the lease until then.
func (s *Scheduler) lead(ctx context.Context) {
	term, _ := election.TermFrom(ctx) // a callback's context has one
	l := s.newLoop(ctx, term)
	if !s.enter(l) { // Shutdown was called after the term began
		term.Resign(errShutdown)
		return
	}
	doing.Naming(ctx) // only the runs matter; writes about them are harmless after the term
	returned := false
	defer func() { // even if a hook or the logger panics or calls Goexit: the lease is released afterwards
		if !returned {
			term.Resign(errLoopEnded)
		}
		l.runner.wait()
		l.work.Wait()
		l.keep()
		s.leave(l)
		close(l.done)
	}()
	l.run()
	returned = true
}

func (s *Scheduler) newLoop(ctx context.Context, term *election.Term) *loop {
	l := &loop{
		s: s, term: term, id: jobstore.NewID(), stopping: ctx,
		log:     s.log.With(zap.Uint64("term", term.Token())),
		clock:   nodesClock{locker: s.elector.Locker(), wall: s.parts.Clock.Wall, report: s.reportSkew},
		inbox:   newInbox(),
		polls:   newPolls(),
		scanAt:  time.Now().Add(overdueAfter),
		entries: make(map[string]*entry),
		lacks:   make(lacks, s.parts.Quorum.Size()),
		busy:    make(map[*entry]struct{}),
		writes:  writes{jobs: make(map[*entry]struct{})},
		ballot:  ballot{demands: newDemands(s.parts.Quorum.Size())},
		done:    make(chan struct{}),
	}
	l.all = &entry{job: everyJob, machine: jobmachine.New(&everyJob.machine, l.id), older: true, index: -1}
	l.entries[everyJob.Name] = l.all
	l.prepares.waiting = append(l.prepares.waiting, l.all)
	l.runner = &runner{
		elector: s.elector, term: term, stopping: ctx, log: l.log, hooks: s.hooks, runs: make(map[string]*active),
		returned: func(job string, r jobmachine.Returned) {
			l.inbox.post(func() {
				r.End = l.clock.past(r.End)
				l.apply(l.entries[job], r)
			})
		},
	}
	return l
}

// heldUp is all that can make an iteration of the loop last: it waits for no node.
const heldUp = "a hook or the logger of the scheduler, which holds up all ticks,"

// run handles the events and timers of the term. It returns when the term has ended or was asked to end, all runs have
// returned, and their ends are stored or given up.
func (l *loop) run() {
	notices, stop := l.s.parts.Listen(l.s.store.Channel())
	defer stop()
	doing.SetBusy(l.stopping, heldUp)
	defer doing.SetBusy(l.stopping, "")
	l.sync(math.MaxInt) // all, so that the soonest are read first
	timer := time.NewTimer(0)
	defer timer.Stop()
	stopping := l.stopping.Done()
	for {
		pause, over := l.step()
		if over {
			return
		}
		timer.Reset(pause)
		doing.SetBusy(l.stopping, "")
		select {
		case <-stopping:
		case <-l.s.changed:
			l.sync(maxChanges)
		case <-notices:
			l.polls.notice()
		case <-l.inbox.ready:
		case <-timer.C:
		}
		doing.SetBusy(l.stopping, heldUp)
		if stopping != nil && l.stopping.Err() != nil {
			stopping = nil
			l.drain()
		}
		for _, event := range l.inbox.take() {
			event()
		}
	}
}

// step starts what is due. It returns how long to sleep unless an event comes, or over if the loop has ended.
func (l *loop) step() (pause time.Duration, over bool) {
	if l.drained && l.isOver() {
		return 0, true
	}
	now := l.clock.now()
	if by := l.clock.back; by > 0 {
		l.clock.back = 0
		l.reportSetBack(by)
		l.readAgain()
	}
	pause = min(l.dispatch(now), l.takeBallot(now), l.poll(), l.prepare(), l.noteIdle(now))
	if l.drained {
		pause = min(pause, l.untilGiveUp())
	}
	return max(pause, 0), false
}

// apply passes an event to a job's machine and carries out the effects, except for a write. It returns the write, so that the
// caller can send many of them in one call.
func (l *loop) apply(e *entry, event jobmachine.Event) (write *jobstore.Write) {
	if e == nil { // the job was removed, and nothing of it is left
		return nil
	}
	write = l.advance(e, event)
	l.requeue(e)
	return write
}

// advance is apply without requeue, which the caller calls or replaces.
func (l *loop) advance(e *entry, event jobmachine.Event) (write *jobstore.Write) {
	var effects jobmachine.Effects
	e.machine, effects = jobmachine.Next(e.machine, event)
	for _, id := range effects.Replace {
		l.runner.cancel(id, ErrReplaced)
	}
	for _, id := range effects.Cancel {
		l.runner.cancel(id, fmt.Errorf("%w by %s", ErrCanceled, effects.Canceled.Who()))
	}
	if effects.Ask {
		job := e.job.Name
		l.work.Go(func() { l.ask(job) }) // ends when the leader stops; lead waits for it
	}
	for _, s := range effects.Start {
		l.runner.start(e.job, s, l.clock.latest)
	}
	for _, r := range effects.Applied {
		l.reportChange(e.job.Name, r)
		l.forget(e, r)
		if e == l.all {
			l.passOn(r.Setting)
		}
	}
	for _, r := range effects.Report {
		l.report(e.job.Name, r)
	}
	return effects.Write
}

// requeue puts a job into the queues that match its machine's state, and takes it out of the others.
func (l *loop) requeue(e *entry) {
	m := &e.machine
	wake, isLazy := m.Wake()
	if l.drained && !m.StoresInDrain() {
		wake = time.Time{}
	}
	l.agenda.put(e, wake)
	switch hasEnds := len(m.Ended()) > 0; {
	case !isLazy:
		e.queue = nil
	case hasEnds && e.queue != &l.ends:
		l.ends.push(e)
	case !hasEnds && e.queue == nil:
		l.behind.push(e)
	}
	if m.IsAtRest() && !m.IsWriting() {
		delete(l.busy, e)
	} else {
		l.busy[e] = struct{}{}
	}
	if m.Failures() > 0 && !m.IsRemoved() {
		l.writes.jobs[e] = struct{}{}
	} else {
		delete(l.writes.jobs, e)
	}
	if e.older && m.At().Ballot == l.ballot.Ballot {
		e.older = false
		l.ballot.older--
	}
	if m.IsRemoved() && l.entries[e.job.Name] == e {
		if e.older {
			e.older = false
			l.ballot.older--
		}
		delete(l.entries, e.job.Name)
		l.lacks.drop(e)
		l.agenda.put(e, time.Time{})
		e.queue = nil
	}
}

// asking returns the context for reads from the nodes. A stop cancels it. While the leader drains, only the end of the term does.
func (l *loop) asking() context.Context {
	if l.drained {
		return l.term.Context()
	}
	return l.stopping
}

// drain makes the loop open no more runs. Runs that are being opened still run.
func (l *loop) drain() {
	l.drained = true
	l.agenda.clear()
	l.ready.clear()
	l.behind.clear()
	for _, e := range l.entries { // also those at rest, because nodes that lose their state meanwhile get all of them back
		l.apply(e, jobmachine.Drain{})
	}
}

// isOver reports whether no run is under way and all ends are stored or given up. If it gives up ends, it reports them
// to the log and the hooks.
func (l *loop) isOver() bool {
	if len(l.busy) == 0 {
		return true
	}
	if l.runner.count() > 0 {
		l.giveUp = time.Time{}
		return false
	}
	if l.giveUp.IsZero() {
		l.giveUp = time.Now().Add(endTimeout)
	}
	mayStore := !l.ballot.fenced && !errors.Is(l.writes.problem, quorum.ErrClosed)
	if mayStore && time.Now().Before(l.giveUp) || l.writes.calls > 0 {
		return false
	}
	for e := range l.busy {
		if len(e.machine.Ended()) == 0 { // a run has just started or just returned
			return false
		}
	}
	for e := range l.busy {
		l.reportUnstored(e)
	}
	return true
}

// waitDone waits until all runs have returned and their ends are stored, and logs what it waits for. It returns false if ctx is
// done first.
func (l *loop) waitDone(ctx context.Context) bool {
	var until []zap.Field
	if deadline, ok := ctx.Deadline(); ok {
		until = append(until, zap.Time("until", deadline))
	}
	notice := time.NewTimer(doing.Soon)
	defer notice.Stop()
	for {
		select {
		case <-l.done:
			return true
		case <-notice.C:
			l.log.Info("shutting down: waiting for runs to return, and for their ends to be stored",
				append(until, zap.Strings("running", l.runner.underway()))...)
			notice.Reset(doing.Often)
		case <-ctx.Done():
			select {
			case <-l.done: // both were ready
				return true
			default:
				return false
			}
		}
	}
}

// untilGiveUp returns for how long isOver cannot change without an event.
func (l *loop) untilGiveUp() time.Duration {
	if l.giveUp.IsZero() {
		return maxPoll
	}
	return max(time.Until(l.giveUp), backoff.Min)
}
