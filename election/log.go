package election

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/redlock"
)

// Levels: info for who leads, since when, and why that ends; warn for problems that need a person soon; error for those
// that need one now.

// logEnd logs the end of a term. problem is why its lease was not released, or nil.
func (e *Elector) logEnd(r *run, t *Term, cause, problem error) {
	fields := []zap.Field{
		zap.Uint64("term", t.Token()), zap.NamedError("cause", cause), zap.Duration("led", time.Since(t.since)),
	}
	undrained := errors.Is(problem, ErrUndrained) && len(e.stillRunning()) > 0 // otherwise only records are still written
	if undrained {
		e.log.Error("work continues after the end of leadership, the next leader waits for the lease to expire",
			append(fields, zap.Error(problem), zap.Time("lease_until", t.lease.Deadline()))...)
	}
	switch stopping := r.stopping.Err() != nil; {
	case r.panicked.Load() != nil:
		e.log.Error("this process ends by a panic, the next leader waits for the lease to expire",
			append(fields, zap.Time("lease_until", t.lease.Deadline()))...)
	case undrained:
	case errors.Is(cause, ErrLost) && stopping:
		e.log.Warn("lost leadership while stopping", fields...)
	case errors.Is(cause, ErrLost):
		e.log.Warn("lost leadership, campaigning again", fields...)
	case problem != nil:
		e.log.Warn("gave up leadership, but failed to release the lease: the next leader waits for it to expire",
			append(fields, zap.Error(problem), zap.Time("lease_until", t.lease.Deadline()))...)
	case stopping:
		e.log.Info("handed leadership over", fields...)
	default:
		e.log.Info("resigned, campaigning again after the cooldown", fields...)
	}
}

func (e *Elector) logRenewal(t *Term, n renewal) {
	e.log.Warn("failed to renew the lease, retrying until the stop deadline", zap.Uint64("term", t.Token()),
		zap.Int("attempts", n.attempts), zap.Time("stop_deadline", t.Deadline()), zap.Error(n.err))
}

// logCutShort logs that a shutdown's deadline leaves callbacks less time than the drain timeout.
func (e *Elector) logCutShort(t *Term, after time.Duration) {
	e.log.Warn("the drain is cut short: Shutdown has no more time", zap.Uint64("term", t.Token()),
		zap.Duration("after", after), zap.Duration("drain_timeout", e.config.drainTimeout),
		zap.Strings("running", e.awaited()))
}

// logDraining logs what a drain waits for. until is when it stops waiting.
func (e *Elector) logDraining(t *Term, until time.Time) {
	e.log.Info("draining: waiting for work to return", zap.Uint64("term", t.Token()),
		zap.Strings("running", e.awaited()), zap.Time("until", until))
}

// logTooLate logs that a lease was won too late to lead, and that it was not released if problem is not nil.
func (e *Elector) logTooLate(lease *redlock.Lease, stopping bool, problem error) {
	if !stopping || problem != nil {
		e.log.Warn("elected too late to lead, by a pause or while stopping: gave the lease up", zap.Bool("stopping", stopping),
			zap.Time("lease_until", lease.Deadline()), zap.Error(problem))
	}
}

// outlook is what a campaign has logged last. It belongs to the goroutine of Run.
type outlook struct {
	said  string    // the line, and whom it is about
	since time.Time // when attempts began to have no outcome; zero: the latest one had one
}

// logAttempt logs the result of an attempt if it is of another kind than the one that was logged last. It logs that too few nodes
// answer only after a TTL: until then a leader may be renewing its lease.
func (e *Elector) logAttempt(o *outlook, err error) {
	say := func(log func(string, ...zap.Field), line, about string, fields ...zap.Field) {
		if what := line + about; what != o.said {
			o.said = what
			log(line, fields...)
		}
	}
	switch leader, led := redlock.HeldBy(err); {
	case led:
		l := announced(leader)
		say(e.log.Info, "following", leader, zap.String("leader", l.ID), zap.String("leader_value", l.Value), zap.Time("since", l.Since))
		o.since = time.Time{}
	case errors.Is(err, redlock.ErrHeld): // other candidates hold votes, or too few nodes were asked to know who leads
	case errors.Is(err, redlock.ErrGuarded):
		say(e.log.Info, "no leader yet: nodes that started recently grant nothing for a while, retrying", "", zap.Error(err))
		o.since = time.Time{}
	case isRefused(err):
		say(e.log.Error, "the nodes refuse this replica, retrying", "", zap.Error(err))
		o.since = time.Time{}
	case o.since.IsZero():
		o.since = time.Now()
	case time.Since(o.since) >= e.config.ttl:
		say(e.log.Warn, "cannot campaign: too few nodes answer, retrying", "", zap.Duration("for", time.Since(o.since)), zap.Error(err))
	}
}

// isRefused reports whether the nodes have another list of nodes, or so many of them refuse this replica that the rest is no
// majority. Unlike LOADING or a broken connection, that does not go away by itself.
func isRefused(err error) bool {
	if errors.Is(err, redlock.ErrConfig) {
		return true
	}
	q, ok := errors.AsType[*redlock.QuorumError](err)
	if !ok {
		return false
	}
	refused := 0
	for _, n := range q.Nodes {
		if refusal.IsPermanent(n.Err) {
			refused++
		}
	}
	return refused > q.Size-q.Need
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
