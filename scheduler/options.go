package scheduler

import (
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
