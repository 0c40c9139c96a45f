package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/notify"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// Watch calls fn with the current holder of the lock called name, and again whenever the holder changes, until ctx is
// done. The zero Holder means that nobody holds the lock. Watch returns the cause of ctx, [ErrConfig] for a bad name,
// or [ErrClosed]. It writes nothing.
//
// The nodes report releases. While nobody has the lock, Watch polls, with pauses of up to TTL/20; otherwise it polls
// when the holder's lease must have run out. While too few nodes answer to decide, the last Holder stands.
func (l *Locker) Watch(ctx context.Context, lock string, fn func(Holder)) error {
	if err := name.Check("lock name", lock); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	news, sub := l.follow(l.channelOf(lock))
	defer sub.Close()
	backoff := retry.Backoff{Min: 5 * time.Millisecond, Max: max(l.settings.TTL/20, 50*time.Millisecond)}
	var last Holder
	pace := retry.Pace{Burst: messageBurst, Every: messageInterval}
	called, failures := false, 0
	for {
		h, err := l.Holder(ctx, lock)
		pause := time.Until(h.Expires) + rand.N(jitter)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrClosed):
			return err
		case err != nil:
			failures++
			pause = backoff.After(failures)
		default:
			failures = 0
		}
		known := err == nil || errors.Is(err, ErrVacant)
		if known && (!called || h.Value != last.Value || h.Token != last.Token) {
			last, called = h, true
			fn(h)
		}
		select {
		case <-time.After(max(pause, backoff.Min)):
		case <-news:
			failures = 0
			_ = retry.Sleep(ctx, pace.Next(time.Now())) // the loop checks ctx itself
			select {
			case <-news: // came meanwhile: the next poll is after that, too
			default:
			}
		case <-l.open.Done():
			return fmt.Errorf("%w: watch %q", ErrClosed, lock)
		case <-ctx.Done():
		}
	}
}

// follow subscribes to a channel. news is set when there may have been a message.
func (l *Locker) follow(channel string) (news signal.Signal, sub *notify.Subscription) {
	news = signal.New()
	return news, l.notifier.Subscribe(channel, func(e notify.Event) {
		if e.Kind != notify.Lost {
			news.Set()
		}
	})
}
