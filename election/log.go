package election

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/redlock"
)

func (e *Elector) logWon(t *Term) {
	e.log.Info("won", zap.Uint64("term", t.Token()), zap.Time("until", t.Deadline()))
}

// logEnd logs the end of a term; problem is why its lease was not released.
func (e *Elector) logEnd(t *Term, cause, problem error) {
	fields := []zap.Field{
		zap.Uint64("term", t.Token()), zap.NamedError("cause", cause),
		zap.Duration("led", time.Since(t.since)),
	}
	message := "stopped"
	switch {
	case errors.Is(cause, ErrLost):
		message = "lost"
	case errors.Is(cause, ErrResigned):
		message = "resigned"
	}
	if problem != nil {
		e.log.Warn(message, append(fields, zap.Error(problem),
			zap.Time("lease_until", t.lease.Deadline()))...)
		return
	}
	e.log.Info(message, fields...)
}

func (e *Elector) logRenewal(t *Term, attempts int, err error) {
	e.log.Warn("renewal failed", zap.Uint64("term", t.Token()), zap.Int("attempts", attempts),
		zap.Time("until", t.Deadline()), zap.Error(err))
}

// logAttempt logs why a campaign did not succeed, once for each change of the cause, and returns
// the cause.
func (e *Elector) logAttempt(err error, last string) string {
	cause := causeOf(err)
	switch {
	case cause == last:
	case errors.Is(err, redlock.ErrHeld):
		e.log.Debug("someone else leads", zap.Error(err))
	case errors.Is(err, redlock.ErrGuarded):
		e.log.Info("nobody can lead yet (it goes on)", zap.Error(err))
	default:
		e.log.Warn("campaign failed (it goes on)", zap.Error(err))
	}
	return cause
}

// causeOf is what stays the same in an error while its cause does: what kind it is, and the codes
// that nodes answer with, but no ports, times or order.
func causeOf(err error) string {
	var causes []string
	for _, kind := range []error{
		redlock.ErrHeld, redlock.ErrGuarded, redlock.ErrNoQuorum, redlock.ErrExpired,
	} {
		if errors.Is(err, kind) {
			causes = append(causes, kind.Error())
		}
	}
	if q, ok := errors.AsType[*redlock.QuorumError](err); ok {
		for _, n := range q.Nodes {
			code, _, _ := strings.Cut(n.Err.Error(), " ")
			if !strings.ContainsFunc(code, func(r rune) bool { return !unicode.IsUpper(r) }) {
				causes = append(causes, code)
			}
		}
	}
	if len(causes) == 0 {
		return err.Error()
	}
	slices.Sort(causes)
	return strings.Join(slices.Compact(causes), ", ")
}
