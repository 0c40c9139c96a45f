package redlock

import (
	"context"
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

// Listen returns a channel that holds a signal whenever the nodes have told that the lock called name was
// released, or may have without being heard, as before the subscription, until stop is called. Without the right to subscribe there is
// none.
func (l *Locker) Listen(name string) (told <-chan struct{}, stop func()) {
	n := l.push.join(name)
	n.push.mu.Lock()
	defer n.push.mu.Unlock()
	n.missed = !n.isReady
	return n.released, n.leave
}

// Raise has the next lease of the lock called name have a token above number. [ErrNoQuorum], [ErrClosed].
func (l *Locker) Raise(ctx context.Context, name string, number uint64) error {
	if !l.begin() {
		return ErrClosed
	}
	defer l.calls.Done()
	round, cause := l.quorum.Ask(ctx, raiseScript.Call([]string{l.fenceKey(name)}, number),
		func(answers []quorum.Answer) bool { return l.decided(answers, releasing) })
	t := l.count(round.Answers(), releasing)
	if t.yes >= l.need {
		return nil
	}
	return l.failed("raise", name, t, ErrNoQuorum, cause)
}
