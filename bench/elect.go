package main

import (
	"context"
	"fmt"
	"time"
)

const (
	electFollowers = 20
	successions    = 150
	rueidisOnes    = 60
	loopOnes       = 40 // of seconds
	loopsAbreast   = 20
)

// elect is of a leader that is told to stop while others follow, each with clients of its own: the time
// until the callback of the next one has started.
func (b *bench) elect(ctx context.Context) error {
	return withLockers(ctx, b.cluster.Addrs(), 1+electFollowers, func(all []oursPeer) error {
		return b.withElectors(ctx, 1+electFollowers, func(rueidis, loops []waiter) error {
			ours := waitersOf(candidatesOf(all))
			for _, followers := range []int{1, 10, electFollowers} {
				if err := b.succession(ctx, ours[:1+followers], rueidis, loops); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// succession compares ours with as many of the others.
func (b *bench) succession(ctx context.Context, ours, rueidis, loops []waiter) error {
	followers := len(ours) - 1
	took, err := repeat(successions, 1, func() (time.Duration, error) {
		return handOver(ctx, ours, func(name string) error {
			err := b.waiting(ctx, name, followers)
			time.Sleep(between(10, 30)) // they ask once more, after they have subscribed
			return err
		})
	})
	if err != nil {
		return err
	}
	rueidisTook, err := repeat(rueidisOnes, 1, func() (time.Duration, error) {
		return handOver(ctx, rueidis[:1+followers], func(string) error {
			time.Sleep(between(20, 50))
			return nil
		})
	})
	if err != nil {
		return err
	}
	loopsTook, err := repeat(loopOnes, loopsAbreast, func() (time.Duration, error) {
		return handOver(ctx, loops[:1+followers], func(string) error {
			time.Sleep(between(1000, 2000)) // all have begun, and are at any point of their pauses
			return nil
		})
	})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("handing over, followers: %d", followers)
	b.report.latency(what, took, rueidisTook, "rueidislock, on one node")
	p50, p99 := b.report.latency("", took, loopsTook, "redsync in a loop")
	b.report.atMost(what+", p50 ms", p50, 5)
	b.report.atMost(what+", p99 ms", p99, 15)
	return nil
}
