package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// What follows is for this module's own packages: it names types that no other can name.

// Quorum is how the Locker reaches its nodes.
func (l *Locker) Quorum() *quorum.Quorum { return l.quorum }

// Clock is what the Locker's leases go by.
func (l *Locker) Clock() *clock.Clock { return l.clock }

// Time is the present by the clocks of the nodes: their median, as far as it is known from what a quorum of
// them has answered. false: it is not. The clock of this process, its zone and its changes play no part in it.
func (l *Locker) Time() (time.Time, bool) {
	micros, ok := l.clocks.Median(l.clock.Now())
	return time.UnixMicro(micros).UTC(), ok
}

// Listen returns a channel that holds a signal whenever something was published on channel, or may have been without being
// heard, as before the subscription, until stop is called.
func (l *Locker) Listen(channel string) (news <-chan struct{}, stop func()) {
	s := l.notifier.Subscribe(channel, l.order(channel))
	s.Late() // what was published before is told as missed, when it is confirmed
	return s.C(), s.Close
}

// Hash is the key of what the nodes keep for locks: the guard stands there.
func (l *Locker) Hash() string { return l.hash }

// List is the longest lease and the length of the list of nodes, as scripts that look at the guard want them; empty without
// a guard.
func (l *Locker) List() string { return l.list }

// Raise has the next lease of the lock called name have a token above number, which must be one that is believed.
// [ErrNoQuorum], [ErrClosed].
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
