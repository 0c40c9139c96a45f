package fencehttp

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/fenced"
)

// Store keeps the largest token that was shown to each resource. A token that is forgotten, or kept in one replica's memory only,
// refuses nobody: implement Store over what all replicas of the service share, and what survives their restart.
type Store interface {
	// Raise stores the token unless a larger one is stored, in one step, and returns the largest.
	Raise(ctx context.Context, resource string, token uint64) (largest uint64, err error)
}

// SQL returns a [Store] that keeps the tokens in the table of fences of db. Raise waits for the transactions of package fenced that
// are under way on the resource, if the token is new.
func SQL(db *fenced.DB) Store { return sqlStore{db} }

type sqlStore struct{ db *fenced.DB }

func (s sqlStore) Raise(ctx context.Context, resource string, token uint64) (uint64, error) {
	err := fenced.Claim(ctx, s.db, fenced.Holder{Resource: resource, Token: token})
	if refused, ok := errors.AsType[*fenced.FencedError](err); ok {
		return refused.Fence, nil
	}
	return token, err
}

const redisPrefix = "redlockfx:fence:"

//go:embed raise.lua
var raiseSource string

var raise = redis.NewScript(raiseSource)

// Redis returns a [Store] that keeps each token in a key without an end, "redlockfx:fence:" and the name of the resource. Let that
// Redis persist what it answers, and evict nothing: if it loses a token, as in a failover to a copy that lags, an earlier leader is
// let in until the next request of the present one. A call is bounded by the timeouts of the client, and by its context if
// ContextTimeoutEnabled is set there.
func Redis(client redis.UniversalClient) Store { return redisStore{client} }

type redisStore struct{ client redis.UniversalClient }

func (s redisStore) Raise(ctx context.Context, resource string, token uint64) (uint64, error) {
	key := redisPrefix + resource
	text, err := raise.Run(ctx, s.client, []string{key}, strconv.FormatUint(token, 10)).Text()
	if err != nil {
		return 0, fmt.Errorf("fencehttp: failed to raise key %q: %w", key, err)
	}
	largest, err := strconv.ParseUint(text, 10, 64)
	if err != nil || largest < token {
		return 0, fmt.Errorf("fencehttp: key %q holds %.40q, which is no token", key, text)
	}
	return largest, nil
}
