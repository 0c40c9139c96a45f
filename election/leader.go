package election

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
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
	text := fmt.Sprintf("%s %d", url.QueryEscape(c.Identity), time.Now().UnixMilli())
	if c.value != "" {
		text += " " + c.value
	}
	return text
}

// Leader asks all nodes who leads. This process need not campaign. The leader may have changed by the time Leader
// returns. The error is [ErrNoLeader] if no majority of nodes names a leader. Any other error says that too few nodes
// answered.
func (e *Elector) Leader(ctx context.Context) (Leader, error) {
	h, err := e.locker.Holder(ctx, e.lock)
	if errors.Is(err, redlock.ErrVacant) {
		return Leader{}, fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	if err != nil {
		return Leader{}, err
	}
	return leaderOf(h), nil
}

// OnNewLeader calls fn with who leads: at once, and each time that changes. The zero Leader means that nobody leads. The calls come
// one after the other on their own goroutine; if fn blocks, it misses all changes meanwhile but the last. No call starts after stop
// or [redlock.Locker.Close] has returned; one under way may still be running. This process need not campaign; nothing is written to
// the nodes. OnNewLeader panics if fn is nil.
func (e *Elector) OnNewLeader(fn func(Leader)) (stop func()) {
	if fn == nil {
		panic("election: OnNewLeader(nil)")
	}
	return e.parts.OnHolder(e.lock, func(h inside.Holder) { fn(leaderOf(redlock.Holder(h))) })
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
