package main

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/scheduler"
)

// replica is one pod of the service: an fx application of its own.
type replica struct {
	name    string
	app     *fx.App
	elector *election.Elector
	link    *link
}

// start is what a service does: give the module its settings and nodes, and say what to run.
func start(name string, options func() ([]*redis.Options, error), h *history) (*replica, error) {
	r := &replica{name: name, link: &link{conns: make(map[net.Conn]struct{})}}
	nodes, err := options()
	if err != nil {
		return nil, err
	}
	r.app = fx.New(
		fx.NopLogger,
		fx.StopTimeout(5*time.Second),
		fx.Supply(redlockfx.Config{
			Name: "nightly-report", TTL: ttl, NodeTimeout: nodeTimeout, Identity: name,
		}),
		r.link.nodes(nodes),
		redlockfx.Module,
		redlockfx.OnLeader(func(ctx context.Context) { h.lead(ctx, name) }),
		redlockfx.Job(func() scheduler.Job {
			return scheduler.Job{
				Name: "report", Spec: "@every 1s",
				Run: func(ctx context.Context, run scheduler.Run) error { return h.run(ctx, name, run) },
			}
		}),
		fx.Populate(&r.elector),
	)
	if err := r.app.Start(context.Background()); err != nil {
		return nil, err
	}
	return r, nil
}

// stop may be called twice.
func (r *replica) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), r.app.StopTimeout())
	defer cancel()
	return r.app.Stop(ctx)
}

// link is a replica's way to the nodes, which can be cut as if its host had died.
type link struct {
	mu    sync.Mutex // guards the fields below
	dead  bool
	conns map[net.Conn]struct{}
}

// nodes adds a client for each node, and closes them after the module has stopped.
func (l *link) nodes(options []*redis.Options) fx.Option {
	var all []fx.Option
	for _, o := range options {
		o.Dialer = l.wrap(redis.NewDialer(o), o.Dialer)
		client := redis.NewClient(o)
		all = append(all, redlockfx.Node(func(lc fx.Lifecycle) redis.UniversalClient {
			lc.Append(fx.StopHook(client.Close))
			return client
		}))
	}
	return fx.Options(all...)
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

func (l *link) wrap(byDefault, own dialer) dialer {
	if own == nil {
		own = byDefault
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if l.isCut() {
			return nil, net.ErrClosed
		}
		conn, err := own(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.dead {
			_ = conn.Close() // cut while it was dialed
			return nil, net.ErrClosed
		}
		l.conns[conn] = struct{}{}
		return conn, nil
	}
}

func (l *link) cut() {
	l.mu.Lock()
	conns := l.conns
	l.dead, l.conns = true, nil
	l.mu.Unlock()
	for conn := range conns {
		_ = conn.Close() // dead either way
	}
}

func (l *link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}
