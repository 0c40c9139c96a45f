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
	conn   *redis.Conn // nil: none yet
	taken  time.Time   // when conn was last taken from the client's pool; zero: it may never have been in the pool
}

// keep is how long a connection is kept until it is returned to the pool and taken again. If a connection has not been
// in its pool for 5 s, go-redis (9.23) makes a system call before each command to look for pushed messages.
const keep = 3 * time.Second

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
func (c *connection) isOne() bool {
	_, one := c.client.(*redis.Client)
	return one
}

// isKnown reports whether the client is go-redis's own, so that it is known when it writes a command.
func (c *connection) isKnown() bool {
	switch c.client.(type) {
	case *redis.Client, *redis.ClusterClient, *redis.Ring:
		return true
	}
	return false
}

// context returns the context for a command. An existing connection needs it only if the client ends calls with it.
// Dialing always needs it.
func (c *connection) context(until time.Time) (context.Context, context.CancelFunc) {
	if single, ok := c.client.(*redis.Client); ok && c.conn != nil && !single.Options().ContextTimeoutEnabled {
		return context.Background(), func() {}
	}
	return context.WithDeadline(context.Background(), until)
}

// process sends commands in one pipeline; each stores its own error. If nothing could be sent by until, nothing is
// sent.
func (c *connection) process(until time.Time, cmds []redis.Cmder) error {
	ctx, cancel := c.context(until)
	defer cancel()
	single, ok := c.client.(*redis.Client)
	if ok && c.conn == nil {
		c.conn = single.Conn()
	}
	err := bounded.Call(func() error {
		switch {
		case c.conn != nil && len(cmds) == 1:
			return c.conn.Process(ctx, cmds[0])
		case c.conn != nil:
			return c.pipeline(ctx, c.conn.Pipeline(), cmds)
		case len(cmds) == 1:
			return c.client.Process(ctx, cmds[0])
		}
		return c.pipeline(ctx, c.client.Pipeline(), cmds)
	})
	switch {
	case err != nil:
		c.close() // after any error: go-redis may consider the connection bad now, as after READONLY
		c.taken = time.Time{}
	case c.conn == nil:
	case c.taken.IsZero() || time.Since(c.taken) > keep:
		c.close()
		c.taken = time.Now()
	}
	return err
}

func (c *connection) pipeline(ctx context.Context, pipe redis.Pipeliner, cmds []redis.Cmder) error {
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd) // only queues it
	}
	_, err := pipe.Exec(ctx)
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
	single, ok := c.client.(*redis.Client)
	if !ok || !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	pool := single.PoolStats()
	return pool.IdleConns == 0 && int(pool.TotalConns) >= single.Options().PoolSize
}

// close returns the connection to the pool.
func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close() // the pool drops a broken one
		c.conn = nil
	}
}
