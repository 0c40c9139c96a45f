package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	idleFollowers = 20
	followFor     = 3 * ttl // some rounds of what a follower does
	rivalFor      = ttl / 2 // of those that do it more often

	// rueidislock's leader extends each of its three keys every 2.5 s.
	rueidisExtensions = 3 * int(rivalFor/(2500*time.Millisecond))
)

// follow is of candidates that have nothing to do but to follow, each with clients of its own.
func (b *bench) follow(ctx context.Context) error {
	ours, err := b.followOurs(ctx)
	if err != nil {
		return err
	}
	return b.withElectors(ctx, 1+idleFollowers, func(rueidis, loops []waiter) error {
		watch := func() { time.Sleep(rivalFor) }
		invalidated, err := b.following(ctx, rueidis, watch)
		if err != nil {
			return err
		}
		tries, err := b.following(ctx, loops, watch, "set") // nothing extends the lock
		if err != nil {
			return err
		}
		line := func(what string, total int, is string) {
			beside := float64(total) / idleFollowers / rivalFor.Seconds()
			b.report.compare(what, "commands/s", ours, beside, ours/beside, is)
		}
		line("a follower, TTL 10 s", invalidated-rueidisExtensions, "rueidislock, on one node")
		line("", tries, "redsync in a loop")
		b.report.atMost("commands of a follower, a second over all nodes", ours, 0.15)
		return nil
	})
}

// followOurs returns what one follower sends in a second. What the leader is answered is left out.
func (b *bench) followOurs(ctx context.Context) (each float64, err error) {
	leader, seen, err := openSeen(b.cluster.Addrs())
	if err != nil {
		return 0, err
	}
	err = withPeers(ctx, []peer{leader}, func() error {
		return withLockers(ctx, b.cluster.Addrs(), idleFollowers, func(followers []oursPeer) error {
			candidates := candidatesOf(append([]oursPeer{leader}, followers...))
			var leaders int
			total, err := b.following(ctx, waitersOf(candidates), func() {
				before := len(seen.sorted())
				time.Sleep(followFor)
				leaders = len(seen.sorted()) - before
			})
			each = float64(total-leaders) / idleFollowers / followFor.Seconds()
			return err
		})
	})
	return each, err
}

// following has the first peer lead and the others follow, and returns how many requests all of them
// send during watch.
func (b *bench) following(
	ctx context.Context, peers []waiter, watch func(), plain ...string,
) (total int, err error) {
	name := nextName()
	leader, err := peers[0].acquire(ctx, name)
	if err != nil {
		return 0, err
	}
	waiting, enough := context.WithCancel(ctx)
	errs := make([]error, len(peers))
	var wg sync.WaitGroup
	for i, p := range peers[1:] {
		wg.Go(func() { // ends with waiting
			time.Sleep(rand.N(ttl / 4)) // not all in step
			if _, err := p.wait(waiting, name); waiting.Err() == nil {
				errs[i] = errors.Join(err, errors.New("a follower did not follow"))
			}
		})
	}
	time.Sleep(ttl/4 + time.Second) // all have found the leader
	sent, err := b.requestsDuring(ctx, func() error {
		watch()
		return nil
	}, plain...)
	enough()
	wg.Wait()
	return sum(sent), errors.Join(append(errs, err, leader.Release(ctx))...)
}
