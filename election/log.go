package election

import (
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/redlock"
)

// Levels: info for who leads, since when, and why that ends; warn for problems that need a person soon; error for those
// that need one now.

func (e *Elector) logLeads(t *Term) {
	e.log.Info("this replica leads", zap.Uint64("term", t.Token()), zap.Time("until", t.Deadline()))
}

// logPanics logs the panics that are not logged yet.
func (e *Elector) logPanics(panics []*panicked) {
	for _, p := range panics {
		if !p.logged {
			p.logged = true
			e.logPanic(p.term, p.err)
		}
	}
}

// logPanic logs a panic of a callback. logEnd logs the consequence, unless the term has ended before.
func (e *Elector) logPanic(t *Term, p *PanicError) {
	e.log.Error("a callback panicked", zap.Uint64("term", t.Token()), zap.Error(p), zap.ByteString("callback_stack", p.Stack))
}

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
	switch stopping := done(r.stopping); {
	case e.willPanic():
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

func (e *Elector) logRenewal(t *Term, attempts int, err error) {
	e.log.Warn("failed to renew the lease, retrying until the stop deadline", zap.Uint64("term", t.Token()),
		zap.Int("attempts", attempts), zap.Time("stop_deadline", t.Deadline()), zap.Error(err))
}

// logCutShort logs that a shutdown's deadline leaves callbacks less time than the drain timeout.
func (e *Elector) logCutShort(t *Term, after time.Duration) {
	e.log.Warn("the drain is cut short: Shutdown has no more time", zap.Uint64("term", t.Token()),
		zap.Duration("after", after), zap.Duration("drain_timeout", e.config.drainTimeout),
		zap.Strings("running", e.awaited(t)))
}

// logDraining logs what a drain waits for. until is when it stops waiting.
func (e *Elector) logDraining(t *Term, until time.Time) {
	e.log.Info("draining: waiting for work to return", zap.Uint64("term", t.Token()),
		zap.Strings("running", e.awaited(t)), zap.Time("until", until))
}

// logUsedUp logs that a lease was won with too little time left.
func (e *Elector) logUsedUp(lease *redlock.Lease, problem error) {
	e.log.Warn("elected, but a pause used up most of the lease: gave it up, campaigning again",
		zap.Time("lease_until", lease.Deadline()), zap.Error(problem))
}

// logLeft logs that a lease that was won while stopping could not be released.
func (e *Elector) logLeft(lease *redlock.Lease, problem error) {
	e.log.Warn("elected while stopping, but failed to release the lease: the next leader waits for it to expire",
		zap.Time("lease_until", lease.Deadline()), zap.Error(problem))
}

// outlook records what a campaign has logged so far. It belongs to the goroutine of Run.
type outlook struct {
	leader string    // the announced text of the leader logged last
	logged string    // causeOf of the error logged last; "" if somebody leads
	warned bool      // a problem that keeps everybody from leading was logged
	since  time.Time // when attempts began to have no outcome; zero: the latest attempt had one
}

// logAttempt logs the result of an attempt if it has changed. It logs that too few nodes answer only after a TTL: until then a
// leader may be renewing its lease.
func (e *Elector) logAttempt(o *outlook, err error) {
	leader, led := redlock.HeldBy(err)
	guarded, held := errors.Is(err, redlock.ErrGuarded), errors.Is(err, redlock.ErrHeld)
	if held && !isBlocked(err) { // only a few nodes were asked, so the state of the others is not known
		return
	}
	if led || guarded || held {
		e.logOutcome(o)
	} else if o.since.IsZero() {
		o.since = time.Now()
	}
	cause, lasted := causeOf(err), time.Since(o.since)
	switch {
	case led:
		if leader != o.leader {
			l := announced(leader)
			e.log.Info("following", zap.String("leader", l.ID), zap.String("leader_value", l.Value), zap.Time("since", l.Since))
		}
		o.leader, o.logged = leader, ""
	case cause == o.logged:
	case guarded:
		o.logged = cause
		e.log.Info("no leader yet: nodes that started recently grant nothing for a while, retrying", zap.Error(err))
	case o.since.IsZero(): // other candidates hold votes
	case isRefused(err):
		o.logged, o.warned = cause, true
		e.log.Error("the nodes refuse this replica, retrying", zap.Error(err))
	case lasted >= e.config.ttl:
		o.logged, o.warned = cause, true
		e.log.Warn("cannot campaign: too few nodes answer, retrying", zap.Duration("for", lasted), zap.Error(err))
	}
}

// logOutcome records that an attempt had an outcome.
func (e *Elector) logOutcome(o *outlook) {
	if o.warned {
		e.log.Info("enough nodes answer again")
		o.logged = ""
	}
	o.warned, o.since = false, time.Time{}
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

// isBlocked reports whether so many nodes did not grant the lock that the rest is no majority.
func isBlocked(err error) bool {
	q, ok := errors.AsType[*redlock.QuorumError](err)
	return ok && len(q.Nodes) > q.Size-q.Need
}

// causeOf returns a text that is the same for errors of the same cause: their kinds and the nodes' error codes, without ports, times
// or order.
func causeOf(err error) string {
	causes := codes(err)
	if isRefused(err) {
		causes = append(causes, "refused") // by too many nodes, which is logged differently than by one
	}
	for _, kind := range []error{redlock.ErrHeld, redlock.ErrGuarded, redlock.ErrNoQuorum, redlock.ErrExpired} {
		if errors.Is(err, kind) {
			causes = append(causes, kind.Error())
		}
	}
	if len(causes) == 0 {
		return err.Error()
	}
	slices.Sort(causes)
	return strings.Join(slices.Compact(causes), ", ")
}

// codes returns the codes of the nodes' own errors, such as NOAUTH.
func codes(err error) []string {
	q, ok := errors.AsType[*redlock.QuorumError](err)
	if !ok {
		return nil
	}
	var all []string
	for _, n := range q.Nodes {
		if code := refusal.Code(n.Err); code != "" {
			all = append(all, code)
		}
	}
	return all
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
