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
)

// Watch calls fn with who holds the lock called name, at once and each time that another has it, until ctx
// is done; the zero Holder is nobody. It returns the cause of ctx, [ErrConfig] for a bad name, or
// [ErrClosed]. It writes nothing. A release is told by the nodes, and then, while nobody has the lock, they
// are asked again and again, with pauses of up to TTL/20; otherwise when the lease of the holder must have
// run out. While too few nodes answer to tell, the last Holder stands.
func (l *Locker) Watch(ctx context.Context, lock string, fn func(Holder)) error {
	if err := name.Check("lock name", lock); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	news := l.notifier.Subscribe(l.channelOf(lock), l.order(lock))
	defer news.Close()
	if err := l.joined(ctx, news); err != nil {
		return err
	}
	again := retry.Backoff{Min: 5 * time.Millisecond, Max: max(l.settings.TTL/20, 50*time.Millisecond)}
	var last Holder
	pace := retry.Pace{Burst: newsBurst, Every: newsEvery}
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
			pause = again.After(failures)
		default:
			failures = 0
		}
		known := err == nil || errors.Is(err, ErrVacant)
		if known && (!called || h.Value != last.Value || h.Token != last.Token) {
			last, called = h, true
			fn(h)
		}
		select {
		case <-time.After(max(pause, again.Min)):
		case <-news.C():
			failures = 0
			_ = retry.Sleep(ctx, pace.Next(time.Now())) // the loop looks at ctx itself
			for ok := true; ok; {
				_, ok = news.Next()
			}
		case <-l.open.Done():
			return fmt.Errorf("%w: watch %q", ErrClosed, lock)
		case <-ctx.Done():
		}
	}
}

// joined waits until the subscription is confirmed, for as long as a node may take to answer.
func (l *Locker) joined(ctx context.Context, news *notify.Subscription) error {
	timer := time.NewTimer(l.settings.NodeTimeout)
	defer timer.Stop()
	select {
	case <-news.Ready():
	case <-timer.C:
		news.Late()
	case <-l.open.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
