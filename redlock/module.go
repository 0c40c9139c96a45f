package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Quorum is for this library's own packages. It returns the Locker's connection to its nodes.
func (l *Locker) Quorum() *quorum.Quorum { return l.quorum }

// Clock is for this library's own packages. It returns the clock that the Locker's leases use.
func (l *Locker) Clock() *clock.Clock { return l.clock }

// Time returns the current time by the nodes' clocks: their median, if recent answers of a quorum are known. Otherwise
// it returns false. This process's own wall clock and time zone do not matter.
func (l *Locker) Time() (time.Time, bool) {
	micros, ok := l.clocks.Median(l.clock.Now())
	return time.UnixMicro(micros).UTC(), ok
}

// Listen is for this library's own packages. It returns a channel that receives a value whenever a message was published
// on channel, or may have been missed, for example before the subscription was confirmed. It does so until stop is
// called.
func (l *Locker) Listen(channel string) (notices <-chan struct{}, stop func()) {
	s := l.notifier.Subscribe(channel, l.order(channel))
	s.Late() // once subscribed, earlier messages are reported as missed
	return s.C(), s.Close
}

// List is for this library's own packages. It returns the longest lease and the number of nodes, in the format of
// scripts that check the guard. It is empty without a guard.
func (l *Locker) List() string { return l.list }

// Raise is for this library's own packages. It makes sure that the next lease of the lock called name has a token above
// number. It fails if number is too far ahead of the nodes' clocks, or with [ErrNoQuorum] or [ErrClosed].
func (l *Locker) Raise(ctx context.Context, name string, number uint64) error {
	if !l.Believes(number) {
		return fmt.Errorf("redlock: raise %q: the number %d is more than %v ahead of the nodes' clocks", name, number, l.mostAhead())
	}
	if !l.begin() {
		return ErrClosed
	}
	defer l.calls.Done()
	round, cause := quorum.Ask(ctx, l.quorum, l.commands.raise.Call(&raising{fieldOf(name), digits(number)}),
		func(answers []answer) bool { return l.isDecided(answers, untimed) })
	answers := round.Answers()
	if l.count(answers, untimed).yes >= l.need {
		return nil
	}
	return l.failed("raise", name, answers, untimed, ErrNoQuorum, cause)
}

// raising is one call that raises a number.
type raising struct{ field, number string }

func (r *raising) AppendArgs(_ int, args []any) []any { return append(args, &r.field, &r.number) }
