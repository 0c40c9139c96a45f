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

// believed is how long it is believed who leads.
const believed = time.Second

// leader is the base URL of who leads, or why there is none.
type leader struct {
	url *url.URL
	err error
}

func newLeader(elector *election.Elector, s *settings) *fresh.Value[leader] {
	return &fresh.Value[leader]{For: believed, Read: func(ctx context.Context, last leader) leader {
		base, err := s.find(ctx, elector)
		if err != nil && (last.err == nil || last.err.Error() != err.Error()) {
			s.log.Warn("no leader to lead requests to, answering 503", zap.String("election", elector.Name()), zap.Error(err))
		}
		return leader{base, err}
	}}
}

// find returns the URL of who leads, if requests may be led there. It is bounded by the node timeout.
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
		return nil, errors.New("its value is no http URL")
	}
	if base.User != nil || strings.ContainsAny(value, "?#") {
		return nil, errors.New("its URL must have no user information, query or fragment")
	}
	if strings.Contains(base.Host, "%") {
		return nil, errors.New("the host of its URL must have no zone") // a pattern of the application's could take it for a domain
	}
	return base, nil
}
