package leaderhttp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/fresh"
)

// cached is how long the last answer about who leads is used.
const cached = time.Second

// leader is the base URL of the leader, or why there is none.
type leader struct {
	url *url.URL
	err error
}

func newLeader(elector *election.Elector, s *settings) *fresh.Value[leader] {
	return &fresh.Value[leader]{For: cached, Read: func(ctx context.Context, last leader) leader {
		base, err := s.find(ctx, elector)
		if err != nil && (last.err == nil || last.err.Error() != err.Error()) {
			s.log.Warn("no leader to send requests to, answering 503", zap.String("election", elector.Name()), zap.Error(err))
		}
		return leader{base, err}
	}}
}

// find returns the URL of the leader, if allow permits it. It takes the node timeout at most.
func (s *settings) find(ctx context.Context, elector *election.Elector) (*url.URL, error) {
	found, err := elector.Leader(ctx)
	if err != nil {
		return nil, err
	}
	if found.ID == elector.Identity() {
		return nil, errors.New("this replica was just elected, or is about to stop")
	}
	base, err := baseURL(found.Value)
	if err == nil {
		err = s.allow(base)
	}
	if err != nil {
		return nil, fmt.Errorf("leader %s: %w", found.ID, err)
	}
	return base, nil
}

// baseURL parses the value of a leader. Its errors do not repeat the value, which may have a password.
func baseURL(value string) (*url.URL, error) {
	base, err := url.Parse(value)
	if err != nil || base.Hostname() == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("its value is not an http URL")
	}
	if base.User != nil || strings.ContainsAny(value, "?#") {
		return nil, errors.New("its URL must have no user information, query or fragment")
	}
	if strings.Contains(base.Host, "%") {
		return nil, errors.New("the host of its URL must have no zone") // a pattern of the application could mistake it for a domain
	}
	return base, nil
}
