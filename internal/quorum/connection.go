package quorum

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlockfx/redlockfx/internal/bounded"
)

// connection is what a node's calls are sent on: one connection that is kept, or a client with connections of its own.
// On a single connection, whatever the client's options, go-redis only repeats dialing and commands that the server has
// refused.
type connection struct {
	client  redis.UniversalClient
	single  *redis.Client  // client, if it is one
	options *redis.Options // of a client to make instead; nil: client is used
	conn    *redis.Conn    // of single; nil: none yet
	used    time.Time      // when conn was last used
	wire    atomic.Pointer[net.Conn]
	base    context.Context // of the call under way, if its caller carries it
	aborted atomic.Bool     // nobody waits for the command under way any more
	gone    chan struct{}   // holds one token when abort has returned
}

func newConnection(client redis.UniversalClient, timeout time.Duration) *connection {
	c := &connection{client: client, base: context.Background(), gone: make(chan struct{}, 1)}
	single, ok := client.(*redis.Client)
	switch {
	case !ok:
	case single.Options().ContextTimeoutEnabled: // its calls end with their context
		c.single = single
	case single.Options().Addr == Failover:
		c.single = single.WithTimeout(timeout)
		c.single.Options().MaxRetries = 0 // changes only the copy: no pauses between dialing attempts
		c.single.Options().Limiter = limited(c.single.Options().Limiter)
	default:
		c.options = c.ownOptions(single.Options(), timeout)
	}
	return c
}

// Failover is what go-redis calls the address of each Sentinel client. It closes the connections of such a client when
// the master changes, but not those of a copy with another pool.
const Failover = "FailoverClient"

// ownOptions returns the options of a client with one connection, whose calls end after the timeout: by default go-redis
// waits five seconds, whatever the context says. Other users of the given client neither wait for that connection nor
// take it. The copy does not have the hooks of the given client: go-redis (9.23) does not show them.
func (c *connection) ownOptions(given *redis.Options, timeout time.Duration) *redis.Options {
	o := *given
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		wire, err := dial(ctx, network, addr)
		if err == nil {
			if c.wire.Store(&wire); c.aborted.Load() {
				_ = wire.Close()
			}
		}
		return wire, err
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.ContextTimeoutEnabled = false
	o.MaxRetries, o.DialerRetries = -1, 1
	// One connection is taken. After as many failures to dial as the pool is large, go-redis dials on in the background.
	o.PoolSize, o.MaxActiveConns, o.MinIdleConns, o.MaxIdleConns, o.PipelinePoolSize = 4, 4, 0, 1, -1
	o.Limiter = limited(o.Limiter)
	o.MaintNotificationsConfig = &maintnotifications.Config{ // without the type, each dial would first look up the host's name
		Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone,
	}
	o.PushNotificationProcessor, o.AutoPipelineOptions = nil, nil
	o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
	return &o
}

func limited(l redis.Limiter) redis.Limiter {
	if l == nil {
		return nil
	}
	return limiter{l}
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
func (c *connection) isOne() bool { return c.single != nil || c.isOwn() }

// isOwn reports whether nobody else uses the connection.
func (c *connection) isOwn() bool { return c.options != nil }

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
	if c.aborted.Load() {
		return errGone
	}
	if !c.isWarm() {
		c.release()
	}
	ctx := context.Background()
	if c.conn == nil { // dialing needs the deadline
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(c.base, until)
		defer cancel()
	}
	if c.single == nil && c.isOwn() {
		c.single = redis.NewClient(c.options)
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
	c.used = time.Now()
	if err != nil || !c.isOwn() {
		c.release() // after any error: go-redis may consider the connection bad now, as after READONLY
	}
	if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
		c.close() // the next call dials, with a pool that has not failed yet
	}
	return err
}

// abort makes a command under way fail at once, on any goroutine. Until aborted is reset, nothing more is sent. Whoever
// has had it called takes the token that it leaves.
func (c *connection) abort() {
	c.aborted.Store(true)
	if wire := c.wire.Load(); wire != nil {
		_ = (*wire).Close()
	}
	c.gone <- struct{}{}
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
	if c.single == nil || c.isOwn() || !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	pool := c.single.PoolStats()
	return pool.IdleConns == 0 && int(pool.TotalConns) >= c.single.Options().PoolSize
}

// isWarm reports whether the connection was used a moment ago.
func (c *connection) isWarm() bool { return c.conn != nil && time.Since(c.used) <= warm }

// release returns the connection to the pool, which drops a broken one when it is next taken.
func (c *connection) release() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// close closes what was made here.
func (c *connection) close() {
	c.release()
	if c.isOwn() && c.single != nil {
		_ = c.single.Close()
		c.single = nil
	}
}
