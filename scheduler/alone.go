package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/redlock"
)

// Overlap across leaders: a run that goes on after its term holds a lease of its own, and the next leader waits for that lease.
// A term outlives the start of a run by the stop margin, so only long runs need a lease. Only the first run after a run without
// a known end waits.

var errOverlap = errors.New("a run is under way")

// lock returns the name of that lease. It begins with the job's name, for people. The hash keeps it apart from those of other
// elections and of jobs whose names begin alike.
func (a *active) lock(election string) string {
	sum := sha256.Sum256([]byte(election + "\x00" + a.Job))
	hash := ":" + hex.EncodeToString(sum[:16])
	begin := "run:" + a.Job
	begin = begin[:min(len(begin), name.MaxLen-len(hash))]
	return strings.ToValidUTF8(begin, "?") + hash // a character may be cut in two
}

// waitAlone waits until no run of an earlier leader is under way. With Skip, the first attempt at a tick waits for the longest TTL
// plus one second. If the lease is still held then, a live run extends it, and the error says that the tick must be skipped. A
// later attempt waits until ctx is done, since the run that it waits for may be an earlier attempt at the same tick.
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
	locker := r.elector.Locker()
	return after(r.stopping, locker.Settings().TTL/20, func(ctx context.Context) {
		lease, err := locker.Acquire(ctx, a.lock(r.elector.Name()), r.extension())
		if err != nil {
			if ctx.Err() == nil {
				r.log.Warn("failed to acquire the lease of a run, the next leader would not know that it is under way",
					append(a.fields(nil), zap.Error(err))...)
			}
			return
		}
		<-ctx.Done()
		r.release(lease)
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
