package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// gets, holds and rounds use the connections of a client until ctx is done.
func gets(ctx context.Context, client redis.UniversalClient) { _ = client.Get(ctx, "x").Err() }

// holds has a connection for as long as a blocking command.
func holds(ctx context.Context, client redis.UniversalClient) {
	conn := client.(*redis.Client).Conn()
	defer func() { _ = conn.Close() }()
	if conn.Ping(ctx).Err() == nil {
		<-ctx.Done()
	}
}

func rounds(ctx context.Context, client redis.UniversalClient) {
	other := quorum.New([]redis.UniversalClient{client}, []string{"n"}, config())
	for ctx.Err() == nil {
		gets(ctx, client) // a plain client is not used by lockers themselves
		_, _ = quorum.Ask(ctx, other, counting(), all)
	}
	_ = other.Close(context.WithoutCancel(ctx))
}

// kinds are the clients beside whose pools a connection can be dialed.
var kinds = map[string]func(*redis.Options){
	"plain":         func(*redis.Options) {},
	"Sentinel":      func(o *redis.Options) { o.Addr = quorum.Failover },
	"with contexts": func(o *redis.Options) { o.ContextTimeoutEnabled = true },
}

// A pool without a free connection says nothing about the node, which is asked on a connection beside it: one that works
// answers, and one that hangs is blamed, whoever has the pool's connections. The test runs in real time, because go-redis
// waits for a connection with timers that all bubbles share.
func TestNature_AFullPoolHidesNeitherAHungNodeNorAHealthyOne(t *testing.T) {
	var rows sync.WaitGroup // most of their time is waiting
	defer rows.Wait()
	for name, c := range map[string]struct {
		users func(context.Context, redis.UniversalClient)
		pool  func(*redis.Options)
		brief bool // those who ask wait for less than the node timeout
	}{
		"gets":                  {users: gets},
		"blocking commands":     {users: holds},
		"impatient callers":     {users: holds, brief: true},
		"one connection":        {users: holds, pool: func(o *redis.Options) { o.PoolSize = 1 }},
		"other lockers":         {users: rounds, pool: func(o *redis.Options) { o.PoolSize = 1 }},
		"a short pool timeout":  {users: holds, pool: func(o *redis.Options) { o.PoolTimeout = timeout / 4 }},
		"a longer pool timeout": {users: holds, pool: func(o *redis.Options) { o.PoolTimeout = 3 * timeout / 4 }},
		"a limit below it":      {users: holds, pool: func(o *redis.Options) { o.MaxActiveConns = 2 }},
	} {
		for kind, set := range kinds {
			test := func(t *testing.T) {
				s := share(t, c.users, func(o *redis.Options) redis.UniversalClient {
					set(o)
					if c.pool != nil {
						c.pool(o)
					}
					return redis.NewClient(o)
				})
				ask := s.askUntilOver
				if c.brief {
					ask = s.askBriefly
				}
				s.await(t, ask, works)
				s.nodes.Hang()
				s.await(t, ask, hangs)
				s.nodes.Heal()
				s.await(t, ask, works)
			}
			rows.Go(func() { t.Run(kind+", "+name, test) })
		}
	}
}

// Beside the pool of other clients, nothing can be dialed, so one that stays full is the node's silence.
func TestNature_AHungNodeWhoseUsersHaveThePoolOfAnyClient(t *testing.T) {
	var rows sync.WaitGroup
	defer rows.Wait()
	for name, clientOf := range map[string]func(*redis.Options) redis.UniversalClient{
		"a ring":   ringOf,
		"a struct": func(o *redis.Options) redis.UniversalClient { return wrapped{redis.NewClient(o)} },
	} {
		for _, wait := range []time.Duration{0, timeout / 4} {
			test := func(t *testing.T) {
				s := share(t, gets, func(o *redis.Options) redis.UniversalClient {
					o.PoolTimeout = wait
					return clientOf(o)
				})
				s.nodes.Hang()
				s.await(t, s.askUntilOver, hangs)
			}
			rows.Go(func() { t.Run(fmt.Sprintf("%s, pool timeout %v", name, wait), test) })
		}
	}
}

// shared is a Quorum of one node, whose client has other users.
type shared struct {
	nodes  *nodetest.Cluster
	quorum *quorum.Quorum
}

func works(q *quorum.Quorum, err error) bool { return err == nil && !q.Slow(0) }
func hangs(q *quorum.Quorum, err error) bool {
	return err != nil && !errors.Is(err, quorum.ErrHeldUp) && q.Slow(0)
}

// await asks until three calls in a row have ended as they should: a busy machine loses the time of some.
func (s shared) await(t *testing.T, ask func(*testing.T) error, should func(*quorum.Quorum, error) bool) {
	t.Helper()
	var others []error
	for run, began := 0, time.Now(); run < 3; run++ {
		if err := ask(t); !should(s.quorum, err) {
			others, run = append(others, err), -1
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("never three calls in a row that do; others end with %v", others)
		}
	}
}

func (s shared) askUntilOver(t *testing.T) error { return askUntilOver(t, s.quorum).Err }

// askBriefly asks for a caller that waits for less than the node timeout, and returns how the call ends later.
func (s shared) askBriefly(t *testing.T) error {
	ctx, cancel := context.WithTimeout(t.Context(), timeout/4)
	defer cancel()
	r, _ := quorum.Ask(ctx, s.quorum, counting(), all)
	if err := s.quorum.Idle(t.Context()); err != nil {
		t.Error(err)
	}
	return r.Answer(0).Err
}

// share starts users of all connections of a client. They end with the test.
func share(
	t *testing.T, use func(context.Context, redis.UniversalClient), clientOf func(*redis.Options) redis.UniversalClient,
) shared {
	nodes := nodetest.Start(1)
	nodes.Delay(timeout / 20) // so that quick commands keep their connections for a while
	options := nodes.Links().Options(0)
	options.PoolSize, options.ReadTimeout, options.MaxRetries = 4, 2*timeout, -1
	client := clientOf(options)
	q := quorum.New([]redis.UniversalClient{client}, nodes.Addrs(), config())
	ctx, stop := context.WithCancel(context.Background())
	var users sync.WaitGroup
	t.Cleanup(func() {
		stop()
		users.Wait()
		if err := errors.Join(q.Close(context.Background()), client.Close()); err != nil {
			t.Error(err)
		}
		nodes.Close()
	})
	for range 8 {
		users.Go(func() {
			for ctx.Err() == nil {
				use(ctx, client)
				time.Sleep(timeout / 20) // a pool may refuse at once
			}
		})
	}
	size := options.PoolSize
	if options.MaxActiveConns > 0 {
		size = options.MaxActiveConns
	}
	bubble.Await(t, "full pool", 10*time.Second, func() bool {
		pool := client.PoolStats()
		return pool.IdleConns == 0 && int(pool.TotalConns) >= size
	})
	return shared{nodes, q}
}
