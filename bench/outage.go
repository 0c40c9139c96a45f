package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	outageFor   = 5 * time.Second
	outageExtra = 30 * time.Second // how long after the guard the row gives up waiting for a leader
)

// outage measures a single node that dies and comes back without the lease, as after a failover that lost the newest
// writes. The figure is the time from its death until the next leader's callback starts, outage included.
func (b *bench) outage(ctx context.Context) {
	ttls := []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}
	for range ttls {
		b.clusters = append(b.clusters, must(redisproc.Start(ctx, 1)))
	}
	single := slices.Clone(b.clusters[len(b.clusters)-len(ttls):])
	took := make([]time.Duration, len(ttls))
	check(each(len(ttls), len(ttls), func(i int) (err error) {
		took[i], err = outageOf(ctx, single[i], ttls[i])
		return err
	}))
	for i, ttl := range ttls {
		b.report.figure(fmt.Sprintf("TTL %v, death of the node to next leader, s", ttl), took[i].Seconds())
	}
}

func outageOf(ctx context.Context, single *redisproc.Cluster, ttl time.Duration) (took time.Duration, err error) {
	leads := make(chan time.Time, 1)
	for range 2 {
		clients := clientsOf(single.Addrs())
		locker, problem := redlock.New(clients, redlock.WithTTL(ttl))
		if problem != nil {
			return 0, errors.Join(problem, closeAll(clients))
		}
		elector, problem := election.New(locker, "outage", election.OnLeader(func(ctx context.Context) {
			offer(leads, time.Now())
			<-ctx.Done()
		}))
		if problem != nil {
			return 0, errors.Join(problem, locker.Close(ctx), closeAll(clients))
		}
		run := campaign(ctx, elector)
		defer func() { err = errors.Join(err, run.Release(ctx), locker.Close(ctx), closeAll(clients)) }()
	}
	if _, err := leader(ctx, leads, ttl); err != nil {
		return 0, err
	}
	node := single.Node(0)
	died := time.Now()
	if err := node.Kill(); err != nil {
		return 0, err
	}
	time.Sleep(outageFor)
	if err := node.RestartEmpty(ctx); err != nil {
		return 0, err
	}
	next, err := leader(ctx, leads, ttl)
	return next.Sub(died), err
}

// leader waits for the next leader. The node may have to wait out its guard first.
func leader(ctx context.Context, leads <-chan time.Time, ttl time.Duration) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, ttl+outageFor+outageExtra, errors.New("nobody leads"))
	defer cancel()
	return receive(ctx, leads)
}
