package quorum

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlockfx/redlockfx/internal/bounded"
)

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// wire is the connection that was dialed last. go-redis (9.22) leaves one open whose setup has failed.
type wire struct{ last atomic.Pointer[net.Conn] }

func (w *wire) of(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err == nil {
			w.last.Store(&conn)
		}
		return conn, err
	}
}

// close is safe for concurrent use.
func (w *wire) close() {
	if conn := w.last.Load(); conn != nil {
		_ = (*conn).Close()
	}
}

// connection is what a node's calls are sent on: one connection that is kept, or one of the given client's pool, or a cluster's client
// of its own, or a client of another kind. On a single connection, whatever the client's options, go-redis only repeats dialing and
// commands that the server has refused.
type connection struct {
	client  redis.UniversalClient
	cluster *redis.ClusterClient // client, if it is that of a cluster: it was made here
	timeout time.Duration
	options *redis.Options // of a client of its own; nil: the given one is no *redis.Client
	dial    dialer         // the given client's
	dialing *dialing       // of a client of its own
	shared  *redis.Client  // the given client, if its own pool is used; nil: it is not
	single  *redis.Client  // that conn is from: shared, or one made with options
	conn    *redis.Conn    // nil: none yet
	used    time.Time      // when conn was last used
	hasty   bool           // conn was idle and may be broken, or the pool is full: it has half of the timeout
	dials   bool           // the last commands may have waited for a dial
	wire    wire
	base    context.Context // of the call under way, if its caller carries it
	aborted atomic.Bool     // nobody waits for the command under way any more
	gone    chan struct{}   // holds one token when abort has returned
}

func newConnection(client redis.UniversalClient, timeout time.Duration) *connection {
	c := &connection{client: client, timeout: timeout, base: context.Background(), gone: make(chan struct{}, 1)}
	if given, ok := client.(*redis.ClusterClient); ok {
		c.cluster = redis.NewClusterClient(ownClusterOptions(given.Options(), timeout))
		c.client = c.cluster
	}
	single, ok := client.(*redis.Client)
	if !ok {
		return c
	}
	c.options = c.ownOptions(single.Options(), timeout)
	switch {
	case single.Options().ContextTimeoutEnabled: // its calls end with their context
		c.shared = single
	case single.Options().Addr == Failover:
		c.shared = single.WithTimeout(timeout)
		c.shared.Options().MaxRetries = 0 // changes only the copy: no pauses between dialing attempts
	}
	c.single = c.shared
	return c
}

// Failover is what go-redis calls the address of each Sentinel client. It closes the connections of such a client when
// the master changes, but not those of a copy with another pool.
const Failover = "FailoverClient"

// ownOptions returns the options of a client with one connection, whose calls end after the timeout: by default go-redis
// waits five seconds, whatever the context says. Other users of the given client neither wait for that connection nor
// take it. The copy does not have the hooks of the given client, which go-redis (9.23) does not show, nor its limiter.
func (c *connection) ownOptions(given *redis.Options, timeout time.Duration) *redis.Options {
	o := *given
	c.dial = o.Dialer
	c.dialing = &dialing{dialer: c.dial, limit: given.DialTimeout}
	dial := c.wire.of(c.dialing.dial)
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if c.aborted.Load() {
			c.wire.close()
		}
		return conn, err
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.ContextTimeoutEnabled = false
	o.MaxRetries, o.DialerRetries = -1, 1
	// One connection is taken. After as many failures to dial as the pool is large, go-redis dials on in the background.
	o.PoolSize, o.MaxActiveConns, o.MinIdleConns, o.MaxIdleConns, o.PipelinePoolSize = 4, 4, 0, 1, -1
	o.Limiter = nil
	o.MaintNotificationsConfig, o.PushNotificationProcessor, o.AutoPipelineOptions = noNotifications(), nil, nil
	o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
	return &o
}

// ownClusterOptions returns the options of a cluster's client whose calls end after the timeout, and with their context. It
// keeps one idle connection to each server, so that what is sent again after a broken one is sent on a new one.
func ownClusterOptions(given *redis.ClusterOptions, timeout time.Duration) *redis.ClusterOptions {
	o := *given
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.ContextTimeoutEnabled = true
	o.DialerRetries, o.MinIdleConns, o.MaxIdleConns = 1, 0, 1
	o.MaintNotificationsConfig, o.PushNotificationProcessor, o.AutoPipelineOptions = noNotifications(), nil, nil
	return &o
}

// noNotifications has an endpoint type, because without it each dial would first look up the host's name.
func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{
		Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone,
	}
}

// isOne reports whether nothing is resent unnoticed. Other clients, such as those of a cluster, resend on their own.
func (c *connection) isOne() bool { return c.options != nil }

// isTimed reports whether calls end after the timeout. Other clients wait as long as their own options say.
func (c *connection) isTimed() bool { return c.isOne() || c.cluster != nil }

// isOwn reports whether nobody else uses the connection.
func (c *connection) isOwn() bool { return c.isOne() && c.shared == nil }

// isPooled reports whether the next connection is one of the given client's pool.
func (c *connection) isPooled() bool { return c.shared != nil && c.single == c.shared }

// isKnown reports whether the client is go-redis's own, so that it is known when it writes a command.
func (c *connection) isKnown() bool {
	switch c.client.(type) {
	case *redis.Client, *redis.ClusterClient, *redis.Ring:
		return true
	}
	return false
}

// process sends commands in one pipeline; each stores its own error. If nothing could be sent by until, nothing is
// sent. If the node can answer soon, a connection that was idle gets half of the timeout.
func (c *connection) process(until time.Time, cmds []redis.Cmder, soon bool) error {
	if c.aborted.Load() {
		return errGone
	}
	idle := time.Since(c.used) > warm
	if idle {
		c.release()
	}
	taken := c.conn == nil
	ctx := context.Background()
	if taken { // dialing needs the deadline
		c.take(soon && (idle || c.isPooled()))
		if half := time.Now().Add(c.timeout / 2); c.hasty && half.Before(until) {
			until = half
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(c.base, until)
		defer cancel()
	}
	c.dials = taken && !c.hasty
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
	if err != nil || c.hasty || c.isPooled() {
		c.release() // after any error: go-redis may consider the connection bad now, as after READONLY
	}
	if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
		c.close() // the next call dials, with a pool that has not failed yet
	}
	return err
}

// take takes a connection. If it may have been idle and hasty is set, it has half of the timeout: what it loses may be
// lost on the way, as at a router that has forgotten the connection, and the other half is enough to send it again. So
// has one of a full pool: only a connection beside it shows whether others are busy with its connections or the node hangs.
func (c *connection) take(hasty bool) {
	if c.cluster != nil {
		c.hasty = hasty && c.cluster.PoolStats().IdleConns > 0
	}
	if !c.isOne() {
		return
	}
	if c.single == nil {
		c.single = redis.NewClient(c.options)
	}
	on := c.single
	c.hasty = hasty && on.PoolStats().IdleConns > 0 || c.isFull()
	if c.hasty && !on.Options().ContextTimeoutEnabled { // the copy (9.22) would not have its hooks
		on = on.WithTimeout(c.timeout / 2)
	}
	c.conn = on.Conn()
}

// isFull reports whether a command waits until somebody gives the pool a connection back: all are in use or promised to
// commands that dial or wait.
func (c *connection) isFull() bool {
	if !c.isPooled() {
		return false
	}
	pool := c.shared.PoolStats()
	return int(pool.TotalConns)-int(pool.IdleConns)+int(pool.PendingRequests) >= c.shared.Options().PoolSize
}

// renew has the next commands, until rejoin, sent on a connection that is dialed for them. Other clients drop the broken one
// themselves.
func (c *connection) renew() {
	if c.isOne() {
		c.close()
		c.single = nil
	}
}

// rejoin closes what renew has made beside the given client's pool: go-redis would not close it when the master changes.
func (c *connection) rejoin() {
	if c.shared != nil && !c.isPooled() {
		c.close()
	}
}

// abort makes a command under way fail at once, on any goroutine. Until aborted is reset, nothing more is sent. Whoever
// has had it called takes the token that it leaves.
func (c *connection) abort() {
	c.aborted.Store(true)
	c.wire.close()
	c.gone <- struct{}{}
}

// ends are the errors of connections that the other end, or the kernel when its probes failed, has ended.
var ends = []error{
	io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE,
	syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
}

// isBroken reports whether an error says that the connection was closed, now or long before, as by a node that restarts,
// that it may have been forgotten, or that the pool gave none. Another connection may work.
func (c *connection) isBroken(err error) bool {
	silent := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
	none := errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
	return c.hasty && silent || none || slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
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

// end closes what was made here. Nothing may be sent after it.
func (c *connection) end() {
	c.close()
	if c.dialing != nil {
		c.dialing.close()
	}
	if c.cluster != nil {
		_ = c.cluster.Close()
	}
}

// close closes what was made here, so that the next call dials. A cluster's client stays: it knows the servers.
func (c *connection) close() {
	c.release()
	if c.single != nil && !c.isPooled() {
		_ = c.single.Close()
	}
	c.single = c.shared
}
