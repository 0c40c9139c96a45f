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

// Leader describes the process that leads.
type Leader struct {
	ID, Value string    // as given by WithIdentity
	Token     uint64    // of the term
	Since     time.Time // when it was elected, by its own clock
	Expires   time.Time // when the lease runs out if it is not renewed
}

// announce returns the text that the lock stores about its holder: the escaped id, the time in milliseconds, and the value.
func (c config) announce() string {
	text := fmt.Sprintf("%s %d", url.QueryEscape(c.id), time.Now().UnixMilli())
	if c.value != "" {
		text += " " + c.value
	}
	return text
}

// Leader asks all nodes who leads. This process need not campaign. The leader may have changed by the time Leader
// returns. The error is [ErrNoLeader] if no majority of nodes names a leader. Any other error says that too few nodes
// answered.
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

// Observe returns a channel that receives who leads: at once, and each time that changes. The channel is closed when ctx is done or
// the Locker is closed. The zero Leader means that nobody leads. A receiver may be slow: a newer value replaces one that was not
// received. This process need not campaign; nothing is written to the nodes.
func (e *Elector) Observe(ctx context.Context) <-chan Leader {
	leaders := make(chan Leader, 1)
	go func() { // ends with ctx, and then closes the channel
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

// observe calls the hook Observed until ctx is done.
func (e *Elector) observe(ctx context.Context) {
	for leader := range e.Observe(ctx) {
		e.config.hooks.observed(leader)
	}
}

func leaderOf(h redlock.Holder) Leader {
	l := announced(h.Value)
	l.Token, l.Expires = h.Token, h.Expires
	return l
}

// announced decodes a text of announce.
func announced(text string) Leader {
	escaped, rest, _ := strings.Cut(text, " ")
	since, value, _ := strings.Cut(rest, " ")
	l := Leader{ID: escaped, Value: value}
	if id, err := url.QueryUnescape(escaped); err == nil { // fails if something other than an election took the lock
		l.ID = id
	}
	if ms, err := strconv.ParseInt(since, 10, 64); err == nil {
		if at := time.UnixMilli(ms); at.Year() >= 0 && at.Year() <= 9999 { // other years cannot be encoded as JSON
			l.Since = at
		}
	}
	return l
}
