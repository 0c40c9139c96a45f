package redlockfx

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// closeTimeout is how long nodes that are away may hold up the stop of an application.
const closeTimeout = time.Second

// start campaigns if there is something to do. Only now it is known: the application's own
// functions may have added work after Module was built. It returns at once, also with Redis away.
// The goroutine is stopped and waited for by stop.
func (m *module) start(context.Context) error {
	if !m.campaigns {
		if !m.lockerAsked {
			m.log.Warn("nothing to do: there is no redlockfx.Job and no redlockfx.OnLeader for this " +
				"election, and nobody takes its Elector, Scheduler or Locker")
		}
		return nil
	}
	m.log.Info("starting", zap.Stringer("config", m.config))
	// fx's context ends with the start; the campaign does not.
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.ended = cancel, make(chan struct{})
	go func() {
		defer close(m.ended)
		_ = m.elector.Run(ctx) // Shutdown returns the same error
	}()
	return nil
}

// stop drains and hands over within ctx, less what closing the Locker needs.
func (m *module) stop(ctx context.Context) error {
	drain := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		drain, cancel = context.WithDeadline(ctx, deadline.Add(-2*m.locker.Settings().NodeTimeout))
		defer cancel()
	}

	began := time.Now()
	err := m.elector.Shutdown(drain)
	if err != nil {
		m.log.Warn("stopped without draining: the lease is left to run out",
			zap.Duration("took", time.Since(began)), zap.Error(err))
	}
	if m.cancel != nil {
		m.cancel() // also where Run had not begun before Shutdown looked
		select {
		case <-m.ended:
		case <-drain.Done():
		}
	}
	m.closeLocker(ctx)
	return err
}

// closeLocker logs what Close says: with nodes away, keys may be left that run out by themselves,
// which is no reason for the application to fail, nor to wait for long.
func (m *module) closeLocker(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := m.locker.Close(ctx); err != nil {
		m.log.Warn("closed with something left", zap.Error(err))
	}
}
