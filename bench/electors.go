package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// withElectors runs fn with n of each of the others, and closes them.
func (b *bench) withElectors(
	ctx context.Context, n int, fn func(rueidis, loops []waiter) error,
) error {
	var rueidis, loops []waiter
	var all []peer
	for range n {
		r, err := openRueidis(b.cluster.Addrs()[0])
		if err != nil {
			return err
		}
		l := loopPeer{openRedsync(b.cluster.Addrs())}
		rueidis, loops, all = append(rueidis, r), append(loops, l), append(all, r, l)
	}
	return withPeers(ctx, all, func() error { return fn(rueidis, loops) })
}

// rueidisPeer is rueidislock: three keys on one node, that last 5 s. Of its defaults only the 20 ms are
// changed that an answer may take: on a busy machine some take longer, and then it may wait for ever.
type rueidisPeer struct{ locker rueidislock.Locker }

func openRueidis(addr string) (rueidisPeer, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{addr}},
		TryNextAfter:   time.Second,
		NoLoopTracking: true, // as its documentation advises from Redis 7.0.5 on
	})
	return rueidisPeer{locker}, err
}

func (p rueidisPeer) acquire(ctx context.Context, name string) (hold, error) {
	_, release, err := p.locker.TryWithContext(ctx, name)
	return rueidisHold(release), err
}

func (p rueidisPeer) wait(ctx context.Context, name string) (hold, error) {
	_, release, err := p.locker.WithContext(ctx, name)
	return rueidisHold(release), err
}

func (p rueidisPeer) close(context.Context) error {
	p.locker.Close()
	return nil
}

type rueidisHold context.CancelFunc

// Extend does nothing: the locker extends by itself.
func (rueidisHold) Extend(context.Context) error { return nil }

func (release rueidisHold) Release(context.Context) error {
	release()
	return nil
}

const tryEvery = time.Second

// loopPeer is an elector as it is often written over redsync: try, sleep, try again. That it extends
// at TTL/3 while it leads does not show here, as nobody leads for so long.
type loopPeer struct{ redsyncPeer }

func (p loopPeer) wait(ctx context.Context, name string) (hold, error) {
	pause := rand.N(tryEvery) // processes start at different times
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if h, err := p.acquire(ctx, name); err == nil {
			return h, nil
		}
		pause = tryEvery
	}
}
