package redlock

import (
	"context"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

func init() {
	inside.Of = func(locker any) inside.Parts {
		l := locker.(*Locker)
		return inside.Parts{
			Quorum: l.quorum, Clock: l.clock, List: l.argumentOf, JoinNodes: l.joinNodes, Listen: l.subscribe,
			Believes: l.jury.believes, Raise: l.raise, OnHolder: l.onHolder,
		}
	}
	inside.CheckLocker = func(urls []string, opts any) (settings any, err error) { return check(urls, opts.([]Option)) }
	inside.Campaigning = func(c inside.Campaign) any { return campaigning(c) }
	inside.WithClock = func(c *clock.Clock) any { return withClock(c) }
}

func withClock(c *clock.Clock) Option { return func(o *options) { o.clock = c } }

func campaigning(c inside.Campaign) AcquireOption {
	return func(r *request) {
		r.textOf, r.headStart, r.backoff, r.onAttempt = c.Value, c.HeadStart, c.Backoff, c.Attempted
	}
}

// subscribe is [inside.Parts.Listen].
func (l *Locker) subscribe(channel string) (notices <-chan struct{}, stop func()) {
	news, sub := l.follow(channel)
	return news, sub.Close
}

// raise is [inside.Parts.Raise].
func (l *Locker) raise(ctx context.Context, name string, number uint64) error {
	if !l.jury.believes(number) {
		return fmt.Errorf("redlock: raise %q: the number %d is more than %v ahead of the nodes' clocks", name, number,
			l.jury.mostAhead())
	}
	if !l.begin() {
		return ErrClosed
	}
	defer l.calls.Done()
	call := l.commands.raise.Call(constants{fieldOf(name), digits(number)})
	round, cause := quorum.Ask(ctx, l.quorum, call, l.jury.agreedUntimed)
	answers := round.Answers()
	if l.jury.count(answers, untimed).yes >= l.need {
		return nil
	}
	return l.jury.failed("raise", name, answers, untimed, ErrNoQuorum, cause)
}
