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
func start(name string, clients func() []redis.UniversalClient, h *history) (*replica, error) {
	r := &replica{name: name, link: &link{conns: make(map[net.Conn]struct{})}}
	r.app = fx.New(
		fx.NopLogger,
		fx.StopTimeout(5*time.Second),
		fx.Supply(redlockfx.Config{
			Name: "nightly-report", TTL: ttl, NodeTimeout: nodeTimeout, Identity: name,
			KeyPrefix: "quickstart", // on a Redis that others use, with longer leases, it disturbs nobody
		}),
		r.link.nodes(clients()),
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

// link is the connections of a replica to the nodes, which can be cut as if its host had died. It is a redis.Hook.
type link struct {
	mu    sync.Mutex // guards the fields below
	dead  bool
	conns map[net.Conn]struct{}
}

// nodes gives the clients to the module, and closes them after it has stopped.
func (l *link) nodes(clients []redis.UniversalClient) fx.Option {
	var all []fx.Option
	for _, client := range clients {
		client.AddHook(l)
		all = append(all, redlockfx.Node(func(lc fx.Lifecycle) redis.UniversalClient {
			lc.Append(fx.StopHook(client.Close))
			return client
		}))
	}
	return fx.Options(all...)
}

func (l *link) DialHook(dial redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if l.isCut() {
			return nil, net.ErrClosed
		}
		conn, err := dial(ctx, network, addr)
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

func (l *link) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (l *link) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
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
