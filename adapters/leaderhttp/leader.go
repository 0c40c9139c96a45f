package leaderhttp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/fresh"
)

// believed is how long it is believed who leads.
const believed = time.Second

// leader is the base URL of who leads, or why there is none.
type leader struct {
	url *url.URL
	err error
}

func newLeader(elector *election.Elector) *fresh.Value[leader] {
	return &fresh.Value[leader]{For: believed, Read: func(ctx context.Context, _ leader) leader {
		base, err := find(ctx, elector)
		return leader{base, err}
	}}
}

// find is bounded by the node timeout.
func find(ctx context.Context, elector *election.Elector) (*url.URL, error) {
	found, err := elector.Leader(ctx)
	if err != nil {
		return nil, err
	}
	if found.ID == elector.Identity() {
		return nil, errors.New("this replica was just elected, or is about to stop")
	}
	base, err := url.Parse(found.Value)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("leader %s says %q, which is no http URL", found.ID, found.Value)
	}
	return base, nil
}
