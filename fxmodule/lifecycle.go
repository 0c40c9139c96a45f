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
	"github.com/redlockfx/redlockfx/redlock"
)

// closeTimeout is how long nodes that are away may hold up the stop of an application.
const closeTimeout = time.Second

// campaign is the part of a module that runs between the start and the stop of the application.
type campaign struct {
	log        *zap.Logger
	observe    bool
	shutdowner fx.Shutdowner

	started  bool               // fx calls start and stop one after the other
	cancel   context.CancelFunc // ends the goroutine of start, nil if there is none
	stopping atomic.Bool        // Run is to end
	ended    chan struct{}      // closed when that goroutine has returned
	failure  error              // by which Run has ended, set before ended is closed

	drained chan struct{} // closed when the election has drained, or could not in time; nil before the stop
	problem error         // why it could not, set before drained is closed
}

// follow appends the hook that starts and stops the election. The first election that stops has all of them drain, at
// the same time; each waits for its own.
func (m *module) follow(lc fx.Lifecycle, shutdowner fx.Shutdowner, all []*module) {
	m.campaign.shutdowner = shutdowner
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { return m.start() },
		OnStop: func(ctx context.Context) error {
			for _, other := range all {
				other.beginDrain(ctx)
			}
			<-m.campaign.drained // by the end of ctx
			return m.campaign.problem
		},
	})
}

// start campaigns, unless it was told not to. It returns at once, also with Redis away. The goroutine is stopped and
// waited for by drain.
func (m *module) start() error {
	c := &m.campaign
	if c.started {
		return fmt.Errorf("redlockfx: %s has been stopped, and cannot start again, as its Locker is closed: make "+
			"another application by fx.New", m.option())
	}
	c.started = true
	if c.observe {
		c.log.Info("observing: with Config.Observe this process never campaigns", zap.Int("callbacks", m.elector.Callbacks()))
		return nil
	}
	// fx's context ends with the start; the campaign does not.
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel, c.ended = cancel, make(chan struct{})
	go func() {
		defer close(c.ended)
		m.run(ctx)
	}()
	return nil
}

// run is Elector.Run, whose panics it takes: they are those of callbacks, after the lease was given up, or of hooks.
func (m *module) run(ctx context.Context) {
	err := errors.New("redlockfx: runtime.Goexit was called on the goroutine of the election, by a hook or a logger")
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("redlockfx: panic on the goroutine of the election, by a hook or a logger: %v\n\n%s", v, debug.Stack())
			if p, ok := v.(*election.PanicError); ok { // a callback's, which has its own stack
				err = p
			}
			m.fail(err)
			return
		}
		m.ended(err)
	}()
	m.logSettings()
	err = m.elector.Run(ctx)
}

// ended says why Run has returned err.
func (m *module) ended(err error) {
	log := m.campaign.log
	switch stopping := m.campaign.stopping.Load(); {
	case stopping: // Shutdown returns the same error
	case err == nil, errors.Is(err, election.ErrStopped):
		log.Warn("the election has ended: the application has called Elector.Shutdown")
	case errors.Is(err, election.ErrUndrained):
		log.Error("the election has ended by the application's Elector.Shutdown, and work goes on", zap.Error(err))
	case errors.Is(err, election.ErrRunning):
		log.Warn("the election is run by the application itself, not by the module", zap.Error(err))
	default:
		m.fail(err)
	}
}

// fail stops the application: Run has ended, and it can never lead again.
func (m *module) fail(err error) {
	m.campaign.failure = err
	m.campaign.log.Error("the election has failed, the application is stopped", zap.Error(err))
	if err := m.campaign.shutdowner.Shutdown(fx.ExitCode(1)); err != nil {
		m.campaign.log.Error("failed to stop the application", zap.Error(err))
	}
}

// logSettings logs what is in force, defaults and options included.
func (m *module) logSettings() {
	lock, terms := m.elector.Locker().Settings(), m.elector.Settings()
	m.campaign.log.Info("starting", zap.String("election", m.elector.Name()), zap.String("candidate", terms.Identity),
		zap.String("key_prefix", lock.KeyPrefix), zap.Duration("ttl", terms.TTL), zap.Duration("max_ttl", lock.MaxTTL),
		zap.Duration("node_timeout", lock.NodeTimeout), zap.Bool("restart_guard", lock.RestartGuard),
		zap.Bool("unseen_restarts", lock.UnseenRestarts), zap.Duration("renew_every", terms.RenewEvery),
		zap.Duration("stop_margin", terms.StopMargin), zap.Duration("drain_timeout", terms.DrainTimeout),
		zap.Duration("cooldown", terms.Cooldown), zap.Duration("standby", terms.Standby))
}

// beginDrain has the election drain within ctx. The goroutine ends with ctx, and OnStop waits for it.
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

// drain lets the work finish and hands over within ctx, less what closing the Locker needs.
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
		c.log.Warn("stopped without draining: the lease is left to run out",
			zap.Duration("took", time.Since(began)), zap.Error(err))
	}
	if c.cancel == nil {
		return err
	}
	c.cancel() // also where Run had not begun before Shutdown looked
	select {
	case <-c.ended:
		return errors.Join(err, c.failure)
	case <-ctx.Done():
		return err
	}
}

// closeLocker logs what Close says: with nodes away, keys may be left that run out by themselves,
// which is no reason for the application to fail, nor to wait for long.
func closeLocker(ctx context.Context, locker *redlock.Locker, log logger) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := locker.Close(ctx); err != nil {
		log.Warn("closed with something left", zap.Error(err))
	}
}
