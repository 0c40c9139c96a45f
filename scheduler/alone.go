package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/redlock"
)

// Overlap across leaders: a run that goes on although its term is over holds a lease of its own, and the next leader waits for
// that lease. A term outlives the start of a run by the stop margin, so only long runs need a lease. Only the first run after
// one whose end is not known waits.

var errOverlap = errors.New("a run is under way")

// lock is the name of that lease. It fits whatever the names of election and job are.
func (a *active) lock(election string) string {
	sum := sha256.Sum256([]byte(election + "\x00" + a.Job))
	return "run:" + hex.EncodeToString(sum[:16])
}

// waitAlone waits until no run of an earlier leader is under way. With Skip, a run that starts a tick for the first time waits for
// the longest TTL and a second: if the lease is still held then, its run extends it, and the error says that the tick must be
// skipped. A repetition waits until ctx is done, since the run that it waits for may be an earlier attempt at the same tick.
func (r *runner) waitAlone(ctx context.Context, a *active) (release func(), err error) {
	locker := r.elector.Locker()
	wait := ctx
	if a.job.Overlap == Skip && a.Attempt == 1 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, locker.Settings().MaxTTL+time.Second)
		defer cancel()
	}
	lease, err := locker.Acquire(wait, a.lock(r.elector.Name()), r.extension())
	if err != nil {
		return nil, fmt.Errorf("%w of an earlier leader: %w", errOverlap, err)
	}
	return func() { r.release(lease) }, nil
}

// hold takes the lease once the run has lasted TTL/20, and returns a function that releases it.
func (r *runner) hold(a *active) (release func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.stopping))
	done := make(chan struct{})
	locker := r.elector.Locker()
	timer := time.AfterFunc(locker.Settings().TTL/20, func() { // cancel stops its goroutine, done waits for it
		defer close(done)
		lease, err := locker.Acquire(ctx, a.lock(r.elector.Name()), r.extension())
		if err != nil {
			if ctx.Err() == nil {
				r.log.Warn("a run has no lease of its own: the next leader would not know that it is under way",
					append(a.fields(nil), zap.Error(err))...)
			}
			return
		}
		<-ctx.Done()
		r.release(lease)
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-done
		}
	}
}

func (r *runner) extension() redlock.AcquireOption {
	s := r.elector.Locker().Settings()
	return redlock.WithAutoExtend(redlock.Extension{Every: s.TTL / 3, Attempts: 3})
}

func (r *runner) release(lease *redlock.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.stopping), endTimeout) // the term may be over
	defer cancel()
	if err := lease.Release(ctx); err != nil && !errors.Is(err, redlock.ErrExpired) {
		r.log.Debug("the lease of a run is left to run out", zap.Error(err))
	}
}
