package scheduler

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// Option changes how a Scheduler works.
type Option func(*Scheduler)

// WithLocation sets the zone of the specs that name none, of jobs that set none; UTC if not set or
// nil. It must be the same on every replica, which time.Local is not.
func WithLocation(loc *time.Location) Option { return func(s *Scheduler) { s.location = loc } }

// WithLogger sets where runs, and ticks that were not run, are logged; nowhere if not set or nil.
func WithLogger(log *zap.Logger) Option { return func(s *Scheduler) { s.log = log } }

// WithHooks sets the hooks that the Scheduler calls.
func WithHooks(h Hooks) Option { return func(s *Scheduler) { s.hooks = h } }

// Middleware makes of a job's Run one that does something around it.
type Middleware = func(next func(context.Context, Run) error) func(context.Context, Run) error

// WithMiddleware wraps the Run of every job, at each attempt; the one that is given first is the outermost. It
// sees the attempt's error before [Retry] does, and may return another one.
func WithMiddleware(wrap Middleware) Option {
	return func(s *Scheduler) { s.middleware = append(s.middleware, wrap) }
}
