package quorum

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/bounded"
)

// connection is what a worker sends its commands on: one connection that it keeps, or a client with connections of its
// own. On a single connection, whatever the client's options, go-redis only repeats dialing and commands that the
// server has refused.
type connection struct {
	client redis.UniversalClient
	single *redis.Client // client, if it is one
	conn   *redis.Conn   // of single; nil: none yet
}

func newConnection(client redis.UniversalClient) connection {
	single, _ := client.(*redis.Client)
	return connection{client: client, single: single}
}

// direct returns a client whose calls end after the timeout. By default go-redis waits five seconds, whatever the
// context says. A copy shares the pool of the original, but (9.23) not its hooks. Clients that end calls with the
// context, or cannot be configured, are used as they are.
func direct(client redis.UniversalClient, timeout time.Duration) redis.UniversalClient {
	single, ok := client.(*redis.Client)
	if !ok || single.Options().ContextTimeoutEnabled {
		return client
	}
	single = single.WithTimeout(timeout)
	single.Options().MaxRetries = 0 // changes only the copy: no pauses between dialing attempts
	if l := single.Options().Limiter; l != nil {
		single.Options().Limiter = limiter{l}
	}
	return single
}

// limiter marks the refusals of a client's limiter, so that they differ from failures to dial.
type limiter struct{ redis.Limiter }

func (l limiter) Allow() error {
	if err := l.Limiter.Allow(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoConnection, err)
	}
	return nil
}

// isOne reports whether nothing is resent unnoticed. Other clients, such as those of a cluster, resend on their own.
func (c *connection) isOne() bool { return c.single != nil }

// isKnown reports whether the client is go-redis's own, so that it is known when it writes a command.
func (c *connection) isKnown() bool {
	switch c.client.(type) {
	case *redis.Client, *redis.ClusterClient, *redis.Ring:
		return true
	}
	return false
}

// process sends commands in one pipeline; each stores its own error. If nothing could be sent by until, nothing is
// sent.
func (c *connection) process(until time.Time, cmds []redis.Cmder) error {
	ctx := context.Background()
	// Dialing always needs the deadline. An existing connection needs it only if the client ends calls with it.
	if c.conn == nil || c.single.Options().ContextTimeoutEnabled {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	if c.conn == nil && c.single != nil {
		c.conn = c.single.Conn()
	}
	var on interface {
		Process(ctx context.Context, cmd redis.Cmder) error
		Pipeline() redis.Pipeliner
	} = c.client
	if c.conn != nil {
		on = c.conn
	}
	err := bounded.Call(func() error {
		if len(cmds) == 1 {
			return on.Process(ctx, cmds[0])
		}
		pipe := on.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, cmd) // only queues it
		}
		_, err := pipe.Exec(ctx)
		return err
	})
	if err != nil {
		c.close() // after any error: go-redis may consider the connection bad now, as after READONLY
	}
	return err
}

// isBroken reports whether the connection was closed, now or long before, as by a node that restarts. Another
// connection may work.
func isBroken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// isExhausted reports whether err says that nothing was sent because all connections of the client were in use. The
// wait for one usually ends with the context, as dialing does.
func (c *connection) isExhausted(err error) bool {
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) {
		return true
	}
	if c.single == nil || !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	pool := c.single.PoolStats()
	return pool.IdleConns == 0 && int(pool.TotalConns) >= c.single.Options().PoolSize
}

// close returns the connection to the pool.
func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close() // the pool drops a broken one
		c.conn = nil
	}
}
