package redlockfx

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/caller"
	"github.com/redlockfx/redlockfx/internal/inside"
)

// module is one election of an application.
type module struct {
	target
	elector    *election.Elector
	log        *zap.Logger
	observe    bool
	shutdowner fx.Shutdowner

	cancel  context.CancelFunc // ends Run; nil before the start
	ended   chan struct{}      // closed when the goroutine of start has returned
	failure error              // the error of Run, set before ended is closed

	drained chan struct{} // closed when the election has drained, or could not in time; nil before the stop
	problem error         // why it could not, set before drained is closed
}

// follow appends the hook that starts and stops the election. The first election that stops starts the drains of all
// elections at once; then each waits for its own drain.
func (m *module) follow(lc fx.Lifecycle, shutdowner fx.Shutdowner, all []*module) {
	m.shutdowner = shutdowner
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { return m.start() },
		OnStop: func(ctx context.Context) error {
			for _, other := range all {
				other.beginDrain(ctx)
			}
			<-m.drained // at the latest when ctx ends
			return m.problem
		},
	})
}

// start starts the campaign, which begins with the first job or callback. It returns at once, even if Redis is down. drain
// stops its goroutine and waits for it.
func (m *module) start() error {
	if m.cancel != nil {
		return fmt.Errorf("redlockfx: %s has been stopped and cannot start again, because its Locker is closed: make "+
			"another application with fx.New", m.option())
	}
	m.logSettings()
	work := inside.HasWork(m.elector)
	select {
	case <-work:
	default:
		m.log.Info("not campaigning until there is a job or a callback")
	}
	if m.observe {
		m.log.Info("observing: with Config.Observe this process never campaigns")
		work = nil
	}
	// The context of fx ends after the start, but the campaign continues.
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.ended = cancel, make(chan struct{})
	go func() {
		defer close(m.ended)
		select {
		case <-work:
			m.run(ctx)
		case <-ctx.Done():
		}
	}()
	return nil
}

// logSettings logs the settings in force, including defaults and options.
func (m *module) logSettings() {
	lock, terms := m.elector.Locker().Settings(), m.elector.Settings()
	m.log.Info("starting", zap.String("election", m.elector.Name()), zap.String("candidate", terms.Identity),
		zap.String("key_prefix", lock.KeyPrefix), zap.Duration("ttl", terms.TTL), zap.Duration("max_ttl", lock.MaxTTL),
		zap.Duration("node_timeout", lock.NodeTimeout), zap.Bool("restart_guard", lock.RestartGuard),
		zap.Bool("unseen_restarts", lock.UnseenRestarts), zap.Duration("renew_every", terms.RenewEvery),
		zap.Duration("stop_margin", terms.StopMargin), zap.Duration("drain_timeout", terms.DrainTimeout),
		zap.Duration("cooldown", terms.Cooldown), zap.Duration("standby", terms.Standby))
}

// run calls Elector.Run, and recovers its panics. They come from callbacks, after the lease was given up, or from hooks.
func (m *module) run(ctx context.Context) {
	err := errors.New("redlockfx: runtime.Goexit was called on the goroutine of the election, by a hook or a logger")
	defer func() {
		v := recover()
		switch p, ok := v.(*election.PanicError); {
		case ok: // it has the stack of its callback
			m.fail(p)
		case v != nil:
			m.fail(fmt.Errorf("redlockfx: panic on the goroutine of the election, by a hook or a logger: %v\n\n%s", v, debug.Stack()))
		case ctx.Err() != nil: // Shutdown returns the same error
		case err == nil, errors.Is(err, election.ErrStopped), errors.Is(err, election.ErrUndrained), errors.Is(err, election.ErrRunning):
			m.log.Warn("the election has ended: the application itself has called Elector.Shutdown or Elector.Run", zap.Error(err))
		default:
			m.fail(err)
		}
	}()
	err = m.elector.Run(ctx)
}

// fail stops the application, because Run has ended and can never lead again.
func (m *module) fail(err error) {
	m.failure = err
	m.log.Error("the election has failed, stopping the application", zap.Error(err))
	if err := m.shutdowner.Shutdown(fx.ExitCode(1)); err != nil {
		m.log.Error("failed to stop the application", zap.Error(err))
	}
}

// beginDrain starts the drain of the election within ctx. The goroutine ends with ctx, and OnStop waits for it.
func (m *module) beginDrain(ctx context.Context) {
	if m.drained != nil {
		return
	}
	m.drained = make(chan struct{})
	go func() {
		defer close(m.drained)
		m.problem = m.drain(ctx)
	}()
}

// drain lets the work finish and hands over, within ctx less the time that closing the Locker needs.
func (m *module) drain(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-2*m.elector.Locker().Settings().NodeTimeout))
		defer cancel()
	}
	if m.cancel == nil { // it has not started
		return nil
	}
	m.cancel()
	began := time.Now()
	err := m.elector.Shutdown(ctx)
	if err != nil {
		m.log.Warn("stopped before the drain was over: the next leader waits for the lease to expire",
			zap.Duration("took", time.Since(began)), zap.Error(err))
	}
	if errors.Is(err, caller.ErrSelf) { // the rest would wait for this call, too
		return err
	}
	select {
	case <-m.ended:
		return errors.Join(err, m.failure)
	case <-ctx.Done():
		return err
	}
}
