package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	crowdFollowers = 100
	crowdTurns     = 30
	crowdSettles   = 300 * time.Millisecond // all have found the new leader, or the old one follows again
)

// crowd is of one election with many followers, each with clients of its own: what a handover costs the
// nodes, all followers' looking for the new leader included, and how long it takes.
func (b *bench) crowd(ctx context.Context) error {
	return withLockers(ctx, b.cluster.Addrs(), 1+crowdFollowers, func(all []oursPeer) (err error) {
		c := &crowd{name: nextName(), all: candidatesOf(all), runs: make([]*campaign, len(all))}
		c.began = make(chan beginning, len(all))
		defer func() { err = errors.Join(err, c.stop(ctx)) }()
		if err := c.start(ctx, b); err != nil {
			return err
		}
		var took []time.Duration
		var sent, busiest []float64
		for range crowdTurns {
			var one time.Duration
			requests, err := b.requestsDuring(ctx, func() (err error) {
				one, err = c.turn(ctx)
				time.Sleep(crowdSettles)
				return err
			})
			if err != nil {
				return err
			}
			took = append(took, one)
			sent = append(sent, float64(sum(requests)))
			busiest = append(busiest, float64(slices.Max(requests)))
			if err := c.follow(ctx, c.former); err != nil {
				return err
			}
			time.Sleep(crowdSettles)
		}
		b.report.latency(fmt.Sprintf("handing over, followers: %d", crowdFollowers), took, nil, "")
		b.report.figure("", "commands", median(sent))
		b.report.figure("", "of a node", median(busiest))
		return nil
	})
}

// crowd are the candidates of one election.
type crowd struct {
	name           string
	all            []candidate
	runs           []*campaign // of each, nil while it does not campaign
	began          chan beginning
	leader, former int
}

// beginning is when the callback of a candidate has started.
type beginning struct {
	candidate int
	at        time.Time
}

// start has the first lead and all others follow.
func (c *crowd) start(ctx context.Context, b *bench) error {
	for i := range c.all {
		if err := c.follow(ctx, i); err != nil {
			return err
		}
		if i == 0 {
			if _, err := c.next(ctx); err != nil {
				return err
			}
		}
	}
	return b.waiting(ctx, c.name, crowdFollowers)
}

// follow has one campaign.
func (c *crowd) follow(ctx context.Context, i int) (err error) {
	c.runs[i], err = c.all[i].campaign(ctx, c.name, func(ctx context.Context) {
		c.began <- beginning{i, time.Now()}
		<-ctx.Done()
	})
	return err
}

// turn stops the leader, and returns how long it took from then until another one led.
func (c *crowd) turn(ctx context.Context) (time.Duration, error) {
	c.former = c.leader
	told := time.Now()
	if err := c.runs[c.former].Release(ctx); err != nil {
		return 0, err
	}
	c.runs[c.former] = nil
	at, err := c.next(ctx)
	return at.Sub(told), err
}

func (c *crowd) next(ctx context.Context) (time.Time, error) {
	select {
	case b := <-c.began:
		c.leader = b.candidate
		return b.at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("nobody leads: %w", context.Cause(ctx))
	}
}

// stop ends all runs, the leader's last, so that nobody takes over.
func (c *crowd) stop(ctx context.Context) error {
	var errs []error
	end := func(i int) {
		if c.runs[i] != nil {
			errs = append(errs, c.runs[i].Release(ctx))
		}
	}
	for i := range c.runs {
		if i != c.leader {
			end(i)
		}
	}
	end(c.leader)
	return errors.Join(errs...)
}
