package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// maxHold is how long the ends of runs wait for ticks. Should this process die meanwhile, runs that were over are
// taken for lost; without any wait the ticks would have to share the nodes with them.
const maxHold = 2 * time.Second

// ledger has the nodes keep the ends of runs. Those that come while it writes are written together: many jobs of
// one instant that are over in no time would have the nodes do little else.
type ledger struct {
	writer sync.WaitGroup // whoever has waited for work and runs, which end by themselves, may wait for it

	mu      sync.Mutex // guards the fields below
	waiting []ending
	writing bool
	held    context.Context // done when the ends need not wait, at the latest after maxHold; nil: nothing has held them
	release context.CancelFunc
}

// ending is what waits to be written; written gets why it was not.
type ending struct {
	register.End
	written chan error
}

// hold says whether the ends wait, for ticks that are due.
func (g *ledger) hold(due bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case due && g.release == nil:
		g.held, g.release = context.WithTimeout(context.Background(), maxHold)
	case !due && g.release != nil:
		g.release()
		g.release = nil
	}
}

// finishRun has the nodes keep the end of a run of this process: it tries while the process leads, for nobody else can
// tell, and for a while after.
func (l *loop) finishRun(job string, record register.Record) error {
	if l.try(l.draining, job, record, true) == nil {
		return nil
	}
	return l.finish(job, record, true)
}

// finish has the nodes keep the end of a record, and tries for a while.
func (l *loop) finish(job string, record register.Record, own bool) error {
	ctx, cancel := l.writing()
	defer cancel()
	return l.try(ctx, job, record, own)
}

func (l *loop) try(ctx context.Context, job string, record register.Record, own bool) error {
	for n := 1; ; n++ {
		err := l.write(register.End{Job: job, Record: record, Own: own})
		if err == nil || retry.Sleep(ctx, again.After(n)) != nil {
			return err
		}
	}
}

// write is one attempt.
func (l *loop) write(end register.End) error {
	e := ending{end, make(chan error, 1)}
	l.ends.mu.Lock()
	l.ends.waiting = append(l.ends.waiting, e)
	start := !l.ends.writing
	l.ends.writing = true
	l.ends.mu.Unlock()
	if start {
		l.ends.writer.Go(l.writeAll) // ends when none is left, each call by the node timeout; lead waits for it
	}
	return <-e.written
}

func (l *loop) writeAll() {
	for {
		l.ends.mu.Lock()
		batch := l.ends.waiting[:min(len(l.ends.waiting), register.MaxClaims)]
		l.ends.waiting = l.ends.waiting[len(batch):]
		l.ends.writing = len(batch) > 0
		held := l.ends.held
		l.ends.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		if held != nil {
			<-held.Done()
		}

		ends := make([]register.End, len(batch))
		for i, e := range batch {
			ends[i] = e.End
		}
		ctx, cancel := l.writing()
		for i, err := range l.s.register.Finish(ctx, ends) {
			batch[i].written <- err
		}
		cancel()
	}
}
