package election

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/redlock"
)

// Levels: info for who leads, since when, and why that ends; warn for problems that need a person soon; error for those
// that need one now.

// logEnd logs the end of a term. problem is why its lease was not released, or nil.
func (e *Elector) logEnd(r *run, t *Term, cause, problem error) {
	fields := []zap.Field{
		zap.Uint64("term", t.Token()), zap.NamedError("cause", cause), zap.Duration("led", time.Since(t.since)),
	}
	withLease := append(fields, zap.Error(problem), zap.Time("lease_until", t.lease.Deadline()))
	switch stopping := r.stopping.Err() != nil; {
	case r.panicked.Load() != nil:
		e.log.Error("this process ends by a panic, the next leader waits for the lease to expire", withLease...)
	case errors.Is(problem, ErrUndrained) && len(e.stillRunning()) > 0: // otherwise only records are still written
		e.log.Error("work continues after the end of leadership, the next leader waits for the lease to expire", withLease...)
	case errors.Is(cause, ErrLost) && stopping:
		e.log.Warn("lost leadership while stopping", fields...)
	case errors.Is(cause, ErrLost):
		e.log.Warn("lost leadership, campaigning again", fields...)
	case problem != nil:
		e.log.Warn("gave up leadership, but failed to release the lease: the next leader waits for it to expire", withLease...)
	case stopping:
		e.log.Info("handed leadership over", fields...)
	default:
		e.log.Info("resigned, campaigning again after the cooldown", fields...)
	}
}

// outlook is what a campaign has logged last. It belongs to the goroutine of Run.
type outlook struct {
	said  string    // the line, and whom it is about
	since time.Time // when attempts began to have no outcome; zero: the latest one had one
}

// say logs a line about a replica, unless it was the last one.
func (o *outlook) say(log func(string, ...zap.Field), line, about string, fields ...zap.Field) {
	if what := line + about; what != o.said {
		o.said = what
		log(line, fields...)
	}
}

// logAttempt logs the result of an attempt if it is of another kind than the one that was logged last. It logs that too few nodes
// answer only after a TTL: until then a leader may be renewing its lease.
func (e *Elector) logAttempt(o *outlook, err error) {
	switch leader, led := redlock.HeldBy(err); {
	case led:
		l := announced(leader)
		o.say(e.log.Info, "following", leader, zap.String("leader", l.ID), zap.String("leader_value", l.Value), zap.Time("since", l.Since))
		o.since = time.Time{}
	case errors.Is(err, redlock.ErrHeld): // other candidates hold votes, or too few nodes were asked to know who leads
	case errors.Is(err, redlock.ErrGuarded):
		o.say(e.log.Info, "no leader yet: nodes grant nothing for a while, retrying", "", zap.Error(err))
		o.since = time.Time{}
	case o.since.IsZero():
		o.since = time.Now()
	case time.Since(o.since) >= e.config.TTL:
		o.say(e.log.Warn, "cannot campaign: too few nodes answer, retrying", "", zap.Duration("for", time.Since(o.since)), zap.Error(err))
	}
}

// logNodes logs when a node begins to fail, when it works again and when it has a problem, until stop is called.
func (e *Elector) logNodes() (stop func()) {
	return e.locker.OnNode(func(n redlock.NodeEvent) {
		switch node := zap.String("node", n.Addr); n.Kind {
		case redlock.NodeFails:
			e.log.Warn("a node fails", node, zap.Error(n.Err))
		case redlock.NodeWorks:
			e.log.Info("a node works again", node, zap.Duration("after", n.Duration))
		case redlock.NodeDenies:
			e.log.Error("a node denies the user a right, retrying", node, zap.String("about", n.Op), zap.Error(n.Err))
		case redlock.NodeProblem:
			e.log.Warn("a node answers, but needs attention", node, zap.String("about", n.Op), zap.Error(n.Err))
		case redlock.NodeStepped:
			if n.Duration.Abs() >= time.Second {
				e.log.Warn("the clock of a node was stepped, which ticks follow: see that its time is synchronized",
					node, zap.Duration("by", n.Duration.Round(time.Millisecond)))
			}
		}
	})
}
