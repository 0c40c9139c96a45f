package election

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// Leader is who leads.
type Leader struct {
	ID, Value string    // as given by WithIdentity
	Token     uint64    // of the term
	Since     time.Time // when it was elected, by its own clock
	Expires   time.Time // when, without renewal, the lease has run out
}

// announce is what the lock says of its holder: the id with its blanks escaped, the time in milliseconds, and the value.
func (c config) announce() string {
	text := fmt.Sprintf("%s %d", url.QueryEscape(c.id), time.Now().UnixMilli())
	if c.value != "" {
		text += " " + c.value
	}
	return text
}

// Leader asks all nodes who leads; this process need not campaign. By the time it returns, that may
// have changed. [ErrNoLeader]: no majority of nodes names one. Any other error says that too few
// nodes answered to tell.
func (e *Elector) Leader(ctx context.Context) (Leader, error) {
	h, err := e.locker.Holder(ctx, LockName(e.name))
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
		_ = e.locker.Watch(ctx, LockName(e.name), func(h redlock.Holder) {
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
	l := announced(h.Value)
	l.Token, l.Expires = h.Token, h.Expires
	return l
}

// announced reads what announce wrote.
func announced(text string) Leader {
	escaped, rest, _ := strings.Cut(text, " ")
	since, value, _ := strings.Cut(rest, " ")
	l := Leader{ID: escaped, Value: value}
	if id, err := url.QueryUnescape(escaped); err == nil { // or the lock was taken by something else than an election
		l.ID = id
	}
	if ms, err := strconv.ParseInt(since, 10, 64); err == nil {
		if at := time.UnixMilli(ms); at.Year() >= 0 && at.Year() <= 9999 { // the years that JSON has
			l.Since = at
		}
	}
	return l
}
