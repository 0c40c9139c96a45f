package redlockfx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/slogcore"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// newLogger returns the application's logger, named after the election.
func (t target) newLogger(log *zap.Logger, other *slog.Logger) *zap.Logger {
	if log == nil {
		log = slogcore.New(other)
	}
	return log.Named(t.title())
}

// newLocker returns the Locker that the application gives, or makes one.
func (t target) newLocker(
	lc fx.Lifecycle, log *zap.Logger, config Config, lockers []*redlock.Locker, nodes []redis.UniversalClient, options [][]redlock.Option,
) (*redlock.Locker, error) {
	if len(lockers) > 0 {
		shared := config
		shared.TTL = 0 // applies to the election too
		set, _ := shared.lockerOptions()
		if len(lockers) > 1 || len(config.Nodes)+len(nodes)+len(set)+len(options) > 0 {
			return nil, fmt.Errorf("redlockfx: %s gets %d Lockers with redlockfx.Locker: it may get one, which has its own nodes and "+
				"settings, so leave out redlockfx.Node, options of package redlock and Config.Nodes, TLS..., KeyPrefix, MaxTTL, "+
				"NodeTimeout, NoRestartGuard and UnseenRestarts", t.option(), len(lockers))
		}
		return lockers[0], nil // election.New checks the rest against the Locker's settings
	}
	var problem error
	if (len(config.Nodes) > 0) == (len(nodes) > 0) {
		problem = fmt.Errorf("redlockfx: %s has %d nodes in Config.Nodes and %d with redlockfx.Node: use one of the two ways",
			t.option(), len(config.Nodes), len(nodes))
	}
	if err := errors.Join(problem, config.Validate()); err != nil {
		return nil, err
	}
	opts, err := config.lockerOptions()
	if err != nil {
		return nil, err
	}
	opts = append(opts, slices.Concat(options...)...)
	var locker *redlock.Locker
	if len(nodes) > 0 {
		locker, err = redlock.New(nodes, opts...)
	} else {
		locker, err = redlock.Open(config.Nodes, opts...)
	}
	if err == nil {
		lc.Append(fx.StopHook(func(ctx context.Context) { closeLocker(ctx, locker, log) }))
	}
	return locker, err
}

// closeTimeout is how long unreachable nodes may delay the stop of an application.
const closeTimeout = time.Second

// closeLocker closes the Locker after everything that takes it has stopped, and logs an error of Close. If nodes are
// unreachable, locks may stay there until they expire. That is no reason for the application to fail or to wait long.
func closeLocker(ctx context.Context, locker *redlock.Locker, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := locker.Close(ctx); err != nil {
		log.Warn("closed the Locker, but some nodes may still have its locks", zap.Error(err))
	}
}

func (t target) newElector(
	locker *redlock.Locker, log *zap.Logger, config Config, all, own []election.Hooks, options [][]election.Option,
) (*election.Elector, error) {
	opts := append(config.electionOptions(), election.WithLogger(log), election.WithHooks(termlog.Hooks()))
	for _, h := range slices.Concat(all, own) {
		opts = append(opts, election.WithHooks(h))
	}
	return election.New(locker, config.Name, append(opts, slices.Concat(options...)...)...)
}

func (t target) newScheduler(
	elector *election.Elector, log *zap.Logger, config Config, all, own []scheduler.Hooks, options [][]scheduler.Option,
) (*scheduler.Scheduler, error) {
	location, err := config.location()
	if err != nil {
		return nil, err
	}
	opts := []scheduler.Option{scheduler.WithLocation(location), scheduler.WithLogger(log)}
	for _, h := range slices.Concat(all, own) {
		opts = append(opts, scheduler.WithHooks(h))
	}
	return scheduler.New(elector, append(opts, slices.Concat(options...)...)...)
}
