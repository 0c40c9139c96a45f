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

// Store keeps the largest token that each resource has seen. A token that is lost, or that only one replica has in its
// memory, stops nobody. So keep the tokens in something that all replicas of the service share and that survives their
// restarts.
type Store interface {
	// Raise atomically stores the token unless a larger one is stored, and returns the largest.
	Raise(ctx context.Context, resource string, token uint64) (largest uint64, err error)
}

// SQL returns a [Store] that keeps the tokens in the table of fences of db. If the token is new, Raise waits for the
// transactions of package fenced that are in progress on the resource.
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

// Redis returns a [Store] that keeps each token in a key that does not expire: "redlockfx:fence:" and the name of the
// resource. That Redis must persist what it acknowledges, and evict nothing. If it loses a token, as in a failover to a
// lagging copy, it lets in an earlier leader until the next request of the present one. The client's timeouts bound a
// call. Its context does too if the client has ContextTimeoutEnabled.
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
		return 0, fmt.Errorf("fencehttp: key %q holds %.40q, which is not a token", key, text)
	}
	return largest, nil
}
