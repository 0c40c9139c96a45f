package scheduler

import (
	"context"
	"log/slog"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/slogcore"
)

// Option changes how a Scheduler works.
type Option func(*options)

// options is what the options set.
type options struct {
	location   *time.Location
	log        *zap.Logger
	hooks      hooks
	middleware []Middleware
}

// WithLocation sets the zone of jobs whose Spec and Location name none. By default, or if loc is nil, it is UTC. The
// zone must be the same on every replica, which time.Local is not.
func WithLocation(loc *time.Location) Option { return func(o *options) { o.location = loc } }

// WithLogger sets where runs, and ticks that did not run, are logged. By default, or if log is nil, nothing is logged.
func WithLogger(log *zap.Logger) Option { return func(o *options) { o.log = log } }

// WithSlog is like [WithLogger], with a logger of log/slog.
func WithSlog(log *slog.Logger) Option { return WithLogger(slogcore.New(log)) }

// WithHooks adds hooks that the Scheduler calls. Hooks of several WithHooks are called in that order, on the same goroutine. If one
// panics, those after it are not called.
func WithHooks(h Hooks) Option { return func(o *options) { o.hooks = append(o.hooks, h) } }

// Middleware returns a function that calls next, a job's Run, and does something around it.
type Middleware = func(next func(context.Context, Run) error) func(context.Context, Run) error

// WithMiddleware wraps the Run of every job, for each attempt. The first middleware given is the outermost. It sees the attempt's
// error before [Retry] does, and may return another one.
func WithMiddleware(wrap Middleware) Option {
	return func(o *options) { o.middleware = append(o.middleware, wrap) }
}
