package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redlockfx/redlockfx/election"
)

const (
	handovers        = 150
	redsyncHandovers = 60
	redsyncParallel  = 5  // their waiters sleep most of the time
	redsyncWaiting   = 10 // with more, some give up before they win
	rueidisHandovers = 60
	loopHandovers    = 40
	loopParallel     = 20
	loopEvery        = time.Second
)

// handover measures a lock that is released while others wait for it, each in a process of its own.
func (b *bench) handover(ctx context.Context) {
	holder, redsync := b.lockers(ctx, 1)[0], b.open(ctx, 1+redsyncWaiting, openRedsync)
	bareHolder := b.open(ctx, 1, openBare)[0]
	won := make(chan time.Time, 50)
	var all waiters
	defer func() { all.kill() }()
	for range 50 {
		all.start(ctx, b.cluster.Addrs(), won)
	}
	for _, waiting := range []int{1, redsyncWaiting, 50} {
		took, bare := make([]time.Duration, handovers), make([]time.Duration, handovers)
		for i := range handovers { // in turn, so that other work on the machine hits both
			took[i] = must(all[:waiting].handOver(ctx, holder, nextName(), won, b.waiting))
			bare[i] = must(all[:1].handOver(ctx, bareHolder, barePrefix+nextName(), won, b.bareWaiting))
		}
		what := fmt.Sprintf("waiting: %d", waiting)
		b.report.latency(what, took, bare, "bare scripts")
		if waiting < len(redsync) {
			theirs := repeat(redsyncHandovers, redsyncParallel, func() (time.Duration, error) {
				return handOver(ctx, redsync[:1+waiting], pause(100, 350)) // at any point of their own pauses
			})
			b.report.latency(what, took, theirs, "redsync")
		}
	}
}

// elect measures the time from the stop of a leader that has followers until the callback of the next leader starts.
func (b *bench) elect(ctx context.Context) {
	const most = 20
	ours := b.open(ctx, 1+most, func(addrs []string) peer { return candidate(openLocker(addrs)) })
	rueidis, loops := b.open(ctx, 1+most, openRueidis), b.open(ctx, 1+most, openLoop)
	for _, followers := range []int{1, 10, most} {
		took := repeat(handovers, 1, func() (time.Duration, error) { return b.handOver(ctx, ours[:1+followers]) })
		one := repeat(rueidisHandovers, 1, func() (time.Duration, error) {
			return handOver(ctx, rueidis[:1+followers], pause(20, 50))
		})
		looping := repeat(loopHandovers, loopParallel, func() (time.Duration, error) {
			return handOver(ctx, loops[:1+followers], pause(1000, 2000)) // at any point of their own pauses
		})
		what := fmt.Sprintf("followers: %d", followers)
		b.report.latency(what, took, one, "rueidislock, on one node")
		b.report.latency(what, took, looping, "redsync in a loop")
	}
}

// repeat takes n samples, up to parallel of them at a time.
func repeat(n, parallel int, measure func() (time.Duration, error)) []time.Duration {
	took := make([]time.Duration, n)
	check(each(n, parallel, func(i int) (err error) {
		took[i], err = measure()
		return err
	}))
	return took
}

// handOver calls the function of the same name for Lockers: they are ready when the nodes know the waiters.
func (b *bench) handOver(ctx context.Context, peers []peer) (time.Duration, error) {
	return handOver(ctx, peers, func(name string) error {
		err := b.waiting(ctx, peers[0].prefix+name, len(peers)-1)
		return errors.Join(err, pause(10, 30)(name)) // waiters ask once more after they have subscribed
	})
}

// handOver makes the first peer hold a lock while the others wait for it. The first peer releases it when ready
// returns. handOver returns the time from just before the release is called until one of the others has the lock.
func handOver(ctx context.Context, peers []peer, ready func(name string) error) (time.Duration, error) {
	name := nextName()
	h, err := peers[0].wait(ctx, name)
	if err != nil {
		return 0, err
	}
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	won := make(chan time.Time, len(peers))
	over := inBackground(len(peers)-1, func(i int) error {
		h, err := peers[1+i].wait(waiting, name)
		if err != nil && waiting.Err() != nil {
			return nil // another one has won
		}
		if err != nil {
			return err
		}
		won <- time.Now()
		enough() // before this one makes room for another
		return h.Release(ctx)
	})
	err = ready(name)
	released := time.Now()
	if err := errors.Join(err, h.Release(ctx), <-over); err != nil {
		return 0, err
	}
	return (<-won).Sub(released), nil
}

// pause sleeps for a random time between two numbers of milliseconds.
func pause(least, most int) func(name string) error {
	return func(string) error {
		time.Sleep(time.Duration(least+rand.IntN(most-least)) * time.Millisecond)
		return nil
	}
}

// holdFunc is a hold with the function as its Release.
type holdFunc func(ctx context.Context) error

func (f holdFunc) Release(ctx context.Context) error { return f(ctx) }

// elections is the prefix of the name of an election's lock.
const elections = "election:"

// candidate returns a peer that campaigns instead of p waiting for a lock. It has won when its callback starts.
func candidate(p peer) peer {
	p.prefix = elections
	p.wait = func(ctx context.Context, name string) (hold, error) {
		began := make(chan struct{}, 1)
		e, err := election.New(p.locker, name, election.OnLeader(func(ctx context.Context) {
			offer(began, struct{}{}) // a second term does not matter
			<-ctx.Done()
		}))
		if err != nil {
			return nil, err
		}
		run := campaign(ctx, e)
		if _, err := receive(ctx, began); err != nil {
			return nil, errors.Join(err, run.Release(ctx))
		}
		return run, nil
	}
	return p
}

// campaign runs an elector until Release.
func campaign(ctx context.Context, e *election.Elector) hold {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	over := inBackground(1, func(int) error { return e.Run(ctx) })
	return holdFunc(func(context.Context) error {
		stop()
		return <-over
	})
}

// receive returns the next value, or the cause of ctx.
func receive[T any](ctx context.Context, from <-chan T) (value T, err error) {
	select {
	case value = <-from:
		return value, nil
	case <-ctx.Done():
		return value, context.Cause(ctx)
	}
}

// offer sends a value if there is room for it.
func offer[T any](to chan<- T, value T) {
	select {
	case to <- value:
	default:
	}
}

// openLoop makes an elector as people often write it with redsync: try, sleep, try again.
func openLoop(addrs []string) peer {
	p := openRedsync(addrs)
	p.wait = func(ctx context.Context, name string) (hold, error) {
		for pause := rand.N(loopEvery); ; pause = loopEvery { // processes start at different times
			if _, err := receive(ctx, time.After(pause)); err != nil {
				return nil, err
			}
			if h, err := p.try(ctx, name); err == nil {
				return h, nil
			}
		}
	}
	return p
}

// openRueidis makes a peer of rueidislock, which keeps three keys on one node. It changes only one default for timing:
// the 20 ms that an answer may take. On a busy machine some answers take longer, and then rueidislock may wait forever.
func openRueidis(addrs []string) peer {
	locker := must(rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: addrs[:1]},
		TryNextAfter:   time.Second,
		NoLoopTracking: true, // as its documentation advises from Redis 7.0.5 on
	}))
	wait := func(ctx context.Context, name string) (hold, error) {
		_, release, err := locker.WithContext(ctx, name)
		return holdFunc(func(context.Context) error { release(); return nil }), err
	}
	return peer{try: wait, wait: wait, close: func(context.Context) error { locker.Close(); return nil }}
}
