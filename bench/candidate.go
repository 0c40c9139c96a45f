package main

import (
	"context"
	"errors"

	"github.com/redlockfx/redlockfx/election"
)

// candidate is a peer that campaigns: what it holds is its leadership.
type candidate struct{ oursPeer }

func candidatesOf(peers []oursPeer) (all []candidate) {
	for _, p := range peers {
		all = append(all, candidate{p})
	}
	return all
}

// campaign is one run of an elector.
type campaign struct {
	elector *election.Elector
	stop    context.CancelFunc
	over    chan error // of Run
}

// campaign starts a run with a callback.
func (p candidate) campaign(
	ctx context.Context, name string, lead func(ctx context.Context), opts ...election.Option,
) (*campaign, error) {
	e, err := election.New(p.locker, name, append(opts, election.OnLeader(lead))...)
	if err != nil {
		return nil, err
	}
	return start(ctx, e), nil
}

// start starts an elector's run, until its Release.
func start(ctx context.Context, e *election.Elector) *campaign {
	asked, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &campaign{e, stop, make(chan error, 1)}
	go func() { c.over <- e.Run(asked) }()
	return c
}

// Release has the run hand over, and waits for its end.
func (c *campaign) Release(context.Context) error {
	c.stop()
	return <-c.over
}

// Extend does nothing: the elector renews by itself.
func (c *campaign) Extend(context.Context) error { return nil }

// wait returns when the callback has started; it does nothing until it is told to end.
func (p candidate) wait(ctx context.Context, name string) (hold, error) {
	began := make(chan struct{}, 1)
	c, err := p.campaign(ctx, name, func(ctx context.Context) {
		select {
		case began <- struct{}{}:
		default: // a second term
		}
		<-ctx.Done()
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-began:
		return c, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), c.Release(ctx))
	}
}

func (p candidate) acquire(ctx context.Context, name string) (hold, error) { return p.wait(ctx, name) }
