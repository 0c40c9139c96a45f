package election

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// Leader is who leads.
type Leader struct {
	ID, Value string    // as given by WithIdentity
	Token     uint64    // of the term
	Expires   time.Time // when, without renewal, the lease has run out
}

// announce is what the lock says of its holder: the id with its blanks escaped, then the value.
func (c config) announce() string { return url.QueryEscape(c.id) + " " + c.value }

// Leader asks all nodes who leads; this process need not campaign. By the time it returns, that may
// have changed. [ErrNoLeader]: no majority of nodes names one. Any other error says that too few
// nodes answered to tell.
func (e *Elector) Leader(ctx context.Context) (Leader, error) {
	h, err := e.locker.Holder(ctx, e.name)
	if errors.Is(err, redlock.ErrVacant) {
		return Leader{}, fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	if err != nil {
		return Leader{}, err
	}
	return leaderOf(h), nil
}

// Observe tells who leads, at once and each time that this changes, until ctx is done or the Locker is
// closed; then the channel is closed. The zero Leader is nobody. It need not be received from: what is not
// received gives way to what is newer. This process need not campaign; nothing is written.
func (e *Elector) Observe(ctx context.Context) <-chan Leader {
	leaders := make(chan Leader, 1)
	go func() { // ends with ctx; closing the channel says so
		defer close(leaders)
		_ = e.locker.Watch(ctx, e.name, func(h redlock.Holder) {
			select {
			case <-leaders:
			default:
			}
			leaders <- leaderOf(h) // nobody else sends
		})
	}()
	return leaders
}

// observe calls the hook until ctx is done.
func (e *Elector) observe(ctx context.Context) {
	for leader := range e.Observe(ctx) {
		e.config.hooks.Observed(leader)
	}
}

func leaderOf(h redlock.Holder) Leader {
	escaped, value, _ := strings.Cut(h.Value, " ")
	id, err := url.QueryUnescape(escaped)
	if err != nil {
		id = escaped // the lock was taken by something else than an election
	}
	return Leader{ID: id, Value: value, Token: h.Token, Expires: h.Expires}
}
