package main

import (
	"context"
	"errors"
	"syscall"
	"time"
)

const (
	warmUp = 14 * time.Second // a node of this library grants nothing for the longest lease at first: 10 s
	long   = 25 * time.Second // more than two leases
	after  = 20 * time.Second // more than one

	quiet = "quiet"
)

// scenario is a fault of the replica that holds, or of a server.
type scenario struct {
	name, title string
	does        func(ctx context.Context, c *cluster, holder int) error
}

var scenarios = []scenario{
	{quiet, "nothing fails", func(context.Context, *cluster, int) error { return nil }},
	{"deploy", "each replica is replaced, one after the other, that which leads first", deploy},
	{"killed", "the process that leads dies (SIGKILL)", func(_ context.Context, c *cluster, holder int) error {
		return c.signal(holder, syscall.SIGKILL)
	}},
	{"stopped", "the process that leads is paused for 25 s (SIGSTOP), as by a long collection of garbage", stopped},
	{"cut", "the process that leads is cut off from all servers for 25 s: no packet passes", cut},
	{"flushed", "a server restarts without its data (Redis, no persistence)", flushed},
}

func deploy(_ context.Context, c *cluster, holder int) (err error) {
	for i := range replicas {
		number := (holder + i) % replicas
		err = errors.Join(err, c.end(number), c.start(number))
		time.Sleep(3 * time.Second)
	}
	return err
}

func stopped(_ context.Context, c *cluster, holder int) error {
	err := c.signal(holder, syscall.SIGSTOP)
	time.Sleep(long)
	return errors.Join(err, c.signal(holder, syscall.SIGCONT))
}

func cut(_ context.Context, c *cluster, holder int) error {
	for _, l := range c.procs[holder].links {
		l.Cut()
	}
	time.Sleep(long)
	for _, l := range c.procs[holder].links {
		l.Heal()
	}
	return nil
}

func flushed(ctx context.Context, c *cluster, _ int) error {
	if c.redis == nil {
		return errNotApplicable
	}
	return errors.Join(c.redis.Node(0).Kill(), c.redis.Node(0).Restart(ctx))
}

var errNotApplicable = errors.New("a database does not lose its data in a restart")

// outcome is what a peer did in a scenario.
type outcome struct {
	Peer, Scenario string
	Held           held
	Ran            ran
	None           bool // the scenario does not apply
}

// play plays a scenario with a peer.
func play(ctx context.Context, p *peer, s *scenario) (o outcome, err error) {
	o = outcome{Peer: p.name, Scenario: s.name}
	c, err := startCluster(ctx, p)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	time.Sleep(warmUp)
	from := time.Now()
	holder, err := c.holder(ctx)
	if err != nil {
		return o, err
	}
	fault := now()
	switch err := s.does(ctx, c, holder); {
	case errors.Is(err, errNotApplicable):
		o.None = true
		return o, nil
	case err != nil:
		return o, err
	}
	time.Sleep(after)
	to := time.Now().Add(-tickEvery)
	if p.schedules {
		o.Ran = judgeTicks(c.told(), from, to, fault)
	} else {
		o.Held = judgeHolder(c.told(), fault)
	}
	return o, nil
}
