package quorum

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/bounded"
)

// connection is what a worker sends its commands on: one connection that it keeps, or a client that has others. On one
// connection go-redis sends nothing twice: what it repeats, whatever the client's options say, is to dial, and what the
// server has refused.
type connection struct {
	client redis.UniversalClient
	conn   *redis.Conn // nil: none yet
	taken  time.Time   // when conn was taken from the client's pool for good; zero: it may never have been there
}

// keep is how long a connection is kept until it is given back and taken anew. Before each command on a connection that has
// not been in its pool for 5 s, or never, go-redis (9.23) makes a system call to look for pushed messages.
const keep = 3 * time.Second

// direct returns a client whose calls end by the timeout: go-redis by default waits five seconds, whatever the context
// says. A copy shares the pool of the one it is given, but (9.23) not its hooks. Clients that end by the context, or cannot
// be told, are used as they are.
func direct(client redis.UniversalClient, timeout time.Duration) redis.UniversalClient {
	single, ok := client.(*redis.Client)
	if !ok || single.Options().ContextTimeoutEnabled {
		return client
	}
	single = single.WithTimeout(timeout)
	single.Options().MaxRetries = 0 // of the copy's own options: no pauses where all that can be repeated is to dial
	return single
}

// isOne reports that nothing is sent twice in secret: other clients, such as those of a cluster, send again on their own.
func (c *connection) isOne() bool {
	_, one := c.client.(*redis.Client)
	return one
}

// context returns the context of what is sent: on a connection that is there it is needed only where the client ends calls
// by it. To dial it always is.
func (c *connection) context(until time.Time) (context.Context, context.CancelFunc) {
	if single, ok := c.client.(*redis.Client); ok && c.conn != nil && !single.Options().ContextTimeoutEnabled {
		return context.Background(), func() {}
	}
	return context.WithDeadline(context.Background(), until)
}

// process sends commands, which keep their own errors, in one pipeline. Where nothing could be sent until then, nothing is.
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
		c.close() // whatever the error: for go-redis the connection may be a bad one now, as it is after READONLY
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

// isBroken reports that the connection was closed in the middle, as by a node that restarts, or long before: another one
// may do.
func isBroken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// close gives the connection back.
func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close() // the pool drops a broken one
		c.conn = nil
	}
}
