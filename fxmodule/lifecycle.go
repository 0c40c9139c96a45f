package redlockfx

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/redlock"
)

// closeTimeout is how long unreachable nodes may delay the stop of an application.
const closeTimeout = time.Second

// campaign is the part of a module that runs between the start and the stop of the application.
type campaign struct {
	log        *zap.Logger
	observe    bool
	shutdowner fx.Shutdowner

	started  bool               // fx calls start and stop one after the other
	cancel   context.CancelFunc // ends the goroutine of start, nil if there is none
	stopping atomic.Bool        // the stop has started, so Run may end
	ended    chan struct{}      // closed when that goroutine has returned
	failure  error              // the error of Run, set before ended is closed

	drained chan struct{} // closed when the election has drained, or could not in time; nil before the stop
	problem error         // why it could not, set before drained is closed
}

// follow appends the hook that starts and stops the election. The first election that stops starts the drains of all
// elections at once; then each waits for its own drain.
func (m *module) follow(lc fx.Lifecycle, shutdowner fx.Shutdowner, all []*module) {
	m.campaign.shutdowner = shutdowner
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { return m.start() },
		OnStop: func(ctx context.Context) error {
			for _, other := range all {
				other.beginDrain(ctx)
			}
			<-m.campaign.drained // at the latest when ctx ends
			return m.campaign.problem
		},
	})
}

// start starts the campaign, unless the Config says Observe. It begins with the first job or callback. start returns at once, even if Redis is down. drain stops
// its goroutine and waits for it.
func (m *module) start() error {
	c := &m.campaign
	if c.started {
		return fmt.Errorf("redlockfx: %s has been stopped and cannot start again, because its Locker is closed: make "+
			"another application with fx.New", m.option())
	}
	c.started = true
	if c.observe {
		c.log.Info("observing: with Config.Observe this process never campaigns")
		return nil
	}
	// The context of fx ends after the start, but the campaign continues.
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel, c.ended = cancel, make(chan struct{})
	go func() {
		defer close(c.ended)
		m.run(ctx)
	}()
	return nil
}

// run calls Elector.Run, and recovers its panics. They come from callbacks, after the lease was given up, or from hooks.
func (m *module) run(ctx context.Context) {
	err := errors.New("redlockfx: runtime.Goexit was called on the goroutine of the election, by a hook or a logger")
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("redlockfx: panic on the goroutine of the election, by a hook or a logger: %v\n\n%s", v, debug.Stack())
			if p, ok := v.(*election.PanicError); ok { // a callback's panic has its own stack
				err = p
			}
			m.fail(err)
			return
		}
		m.ended(err)
	}()
	m.logSettings()
	hasWork := inside.HasWork(m.elector)
	select {
	case <-hasWork:
	default:
		m.campaign.log.Info("not campaigning until there is a job or a callback")
	}
	select {
	case <-hasWork:
		err = m.elector.Run(ctx)
	case <-ctx.Done():
		err = nil
	}
}

// ended logs why Run has returned err.
func (m *module) ended(err error) {
	log := m.campaign.log
	switch stopping := m.campaign.stopping.Load(); {
	case stopping: // Shutdown returns the same error
	case err == nil, errors.Is(err, election.ErrStopped):
		log.Warn("the election has ended: the application has called Elector.Shutdown")
	case errors.Is(err, election.ErrUndrained):
		log.Error("the election has ended: the application has called Elector.Shutdown, and work is still running", zap.Error(err))
	case errors.Is(err, election.ErrRunning):
		log.Warn("the election is run by the application itself, not by the module", zap.Error(err))
	default:
		m.fail(err)
	}
}

// fail stops the application, because Run has ended and can never lead again.
func (m *module) fail(err error) {
	m.campaign.failure = err
	m.campaign.log.Error("the election has failed, stopping the application", zap.Error(err))
	if err := m.campaign.shutdowner.Shutdown(fx.ExitCode(1)); err != nil {
		m.campaign.log.Error("failed to stop the application", zap.Error(err))
	}
}

// logSettings logs the settings in force, including defaults and options.
func (m *module) logSettings() {
	lock, terms := m.elector.Locker().Settings(), m.elector.Settings()
	m.campaign.log.Info("starting", zap.String("election", m.elector.Name()), zap.String("candidate", terms.Identity),
		zap.String("key_prefix", lock.KeyPrefix), zap.Duration("ttl", terms.TTL), zap.Duration("max_ttl", lock.MaxTTL),
		zap.Duration("node_timeout", lock.NodeTimeout), zap.Bool("restart_guard", lock.RestartGuard),
		zap.Bool("unseen_restarts", lock.UnseenRestarts), zap.Duration("renew_every", terms.RenewEvery),
		zap.Duration("stop_margin", terms.StopMargin), zap.Duration("drain_timeout", terms.DrainTimeout),
		zap.Duration("cooldown", terms.Cooldown), zap.Duration("standby", terms.Standby))
}

// beginDrain starts the drain of the election within ctx. The goroutine ends with ctx, and OnStop waits for it.
func (m *module) beginDrain(ctx context.Context) {
	if m.campaign.drained != nil {
		return
	}
	m.campaign.drained = make(chan struct{})
	go func() {
		defer close(m.campaign.drained)
		m.campaign.problem = m.drain(ctx)
	}()
}

// drain lets the work finish and hands over, within ctx less the time that closing the Locker needs.
func (m *module) drain(ctx context.Context) error {
	c := &m.campaign
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-2*m.elector.Locker().Settings().NodeTimeout))
		defer cancel()
	}
	c.stopping.Store(true)
	began := time.Now()
	err := m.elector.Shutdown(ctx)
	if err != nil {
		c.log.Warn("stopped before the drain was over: the next leader waits for the lease to expire",
			zap.Duration("took", time.Since(began)), zap.Error(err))
	}
	if c.cancel == nil {
		return err
	}
	c.cancel() // also stops a Run that starts after Shutdown
	select {
	case <-c.ended:
		return errors.Join(err, c.failure)
	case <-ctx.Done():
		return err
	}
}

// closeLocker closes the Locker, and logs an error of Close. If nodes are unreachable, locks may stay there until they
// expire. That is no reason for the application to fail or to wait long.
func closeLocker(ctx context.Context, locker *redlock.Locker, log logger) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := locker.Close(ctx); err != nil {
		log.Warn("closed the Locker, but some nodes may still have its locks", zap.Error(err))
	}
}
