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
	escaped, value, _ := strings.Cut(h.Value, " ")
	id, err := url.QueryUnescape(escaped)
	if err != nil {
		id = escaped // the lock was taken by something else than an election
	}
	return Leader{ID: id, Value: value, Token: h.Token, Expires: h.Expires}, nil
}
