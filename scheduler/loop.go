package scheduler

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
)

// loop runs the ticks of one term.
type loop struct {
	s        *Scheduler
	term     *election.Term
	draining context.Context // done when nothing may start any more, at the latest with the term
	log      *zap.Logger

	queue queue            // of run's goroutine alone
	lanes map[string]*lane // of the jobs with runs under way, by name; Scheduler.mu guards them

	runs sync.WaitGroup // one for each run under way
	done chan struct{}  // closed when all runs have returned and none will start
}

// lead is the leader's callback. It returns when the runs of the term have: until then the elector
// renews the lease.
func (s *Scheduler) lead(ctx context.Context) {
	term, _ := election.TermFrom(ctx) // a callback's context has one
	l := &loop{
		s: s, term: term, draining: ctx,
		log:   s.log.With(zap.Uint64("term", term.Token())),
		lanes: make(map[string]*lane),
		done:  make(chan struct{}),
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.loop = l
	}
	s.mu.Unlock()
	if closed {
		return
	}

	l.run()
	l.runs.Wait()
	close(l.done)
}

// run is the only goroutine with a timer. A tick is an instant of the wall clock, while a timer
// follows the monotonic one, which stands still while the machine is suspended and is never set: so
// it looks again now and then.
func (l *loop) run() {
	l.sync()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.draining.Done():
			return
		case <-l.s.changed:
			l.sync()
		case <-timer.C:
		}
		for _, d := range l.queue.take(time.Now()) {
			l.tick(d)
		}
		timer.Reset(l.queue.wait(time.Now()))
	}
}

func (l *loop) sync() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.queue.sync(l.s.jobs, time.Now())
}

// tick runs what is due, or not, as the job's overlap says.
func (l *loop) tick(d due) {
	if d.skipped > 0 {
		l.log.Warn("late: only the newest tick runs", zap.String("job", d.job.Name),
			zap.Time("tick", d.tick), zap.Int("skipped", d.skipped))
	}
	l.s.mu.Lock()
	dropped, reason := l.enterLocked(d.pending)
	l.s.mu.Unlock()
	l.logNotRun(dropped, reason)
}

// logNotRun logs a tick that will not run, if there is a reason.
func (l *loop) logNotRun(p pending, reason string) {
	if reason != "" {
		l.log.Info("tick not run", zap.String("job", p.job.Name), zap.Time("tick", p.tick),
			zap.String("reason", reason))
	}
}
