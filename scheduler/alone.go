package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

// Overlap across leaders: a run that goes on after its term holds a lease of its own, and the next leader waits for that lease.
// A term outlives the start of a run by the stop margin, so only long runs need a lease. Only the first run after a run without
// a known end waits.

// lockOf returns the name of a job's lease. It begins with the job's name, for people. The hash keeps it apart from those of other
// elections and of jobs whose names begin alike.
func lockOf(election, job string) string {
	sum := sha256.Sum256([]byte(election + "\x00" + job))
	hash := ":" + hex.EncodeToString(sum[:16])
	begin := "run:" + job
	begin = begin[:min(len(begin), name.MaxLen-len(hash))]
	return strings.ToValidUTF8(begin, "?") + hash // a character may be cut in two
}

// ask finds out when no run of an earlier leader is under way, and tells the job's machine. A lease that is still held after the
// longest TTL was extended meanwhile, so its run was under way when the wait began. It ends with the stop of the leader.
func (l *loop) ask(job string) {
	locker, lock := l.s.elector.Locker(), lockOf(l.s.elector.Name(), job)
	longest := locker.Settings().MaxTTL + time.Second
	for l.stopping.Err() == nil {
		began := time.Now()
		ctx, cancel := context.WithTimeout(l.stopping, longest)
		lease, err := locker.Acquire(ctx, lock)
		cancel()
		switch {
		case err == nil:
			l.inbox.post(func() { l.apply(l.entries[job], jobmachine.Free{Now: l.clock.now()}) })
			l.runner.release(lease)
			return
		case l.stopping.Err() != nil:
		case errors.Is(err, redlock.ErrHeld):
			l.log.Info("a run of an earlier leader is under way: ticks of the job are skipped or wait, as its overlap says",
				zap.String("job", job))
			l.inbox.post(func() { l.apply(l.entries[job], jobmachine.Held{At: l.clock.now().Add(-time.Since(began))}) })
		default:
			l.log.Warn("cannot see whether a run of an earlier leader is under way: ticks of the job wait, retrying",
				zap.String("job", job), zap.Error(err))
			_ = retry.Sleep(l.stopping, longest-time.Since(began)) // the loop checks it
		}
	}
}

// hold holds the run's lease once the run has lasted TTL/20, until the function that it returns is called. A lease that ran out,
// as in an outage longer than its TTL, is taken again.
func (r *runner) hold(a *active) (release func()) {
	locker, lock := r.elector.Locker(), lockOf(r.elector.Name(), a.Job)
	return after(r.stopping, locker.Settings().TTL/20, func(ctx context.Context) {
		for wasLost := false; ; wasLost = true {
			lease, err := locker.Acquire(ctx, lock, r.extension())
			if err != nil {
				if ctx.Err() == nil {
					r.log.Warn("failed to acquire the lease of a run, the next leader would not know that it is under way",
						append(a.fields(nil), zap.Error(err))...)
				}
				return
			}
			if wasLost {
				r.log.Info("the lease of a run is held again", a.fields(nil)...)
			}
			select {
			case <-ctx.Done():
				r.release(lease)
				return
			case <-lease.Context().Done():
				r.log.Warn("the lease of a run has run out, acquiring it again: the next leader does not know that the run is under way",
					a.fields(context.Cause(lease.Context()))...)
			}
		}
	})
}

func (r *runner) extension() redlock.AcquireOption {
	s := r.elector.Locker().Settings()
	return redlock.WithAutoExtend(redlock.Extension{Every: s.TTL / 3, Attempts: 3})
}

func (r *runner) release(lease *redlock.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.stopping), endTimeout) // the term may be over
	defer cancel()
	if err := lease.Release(ctx); err != nil && !errors.Is(err, redlock.ErrExpired) {
		r.log.Debug("failed to release the lease of a run, it expires by its TTL", zap.Error(err))
	}
}
