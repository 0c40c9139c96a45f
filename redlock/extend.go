package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Extend prolongs the lease by its TTL, counted from now, if a majority of nodes still has it as
// ours. [ErrNoQuorum]: not known; the lease is valid until its old deadline, so try again. A lease
// that ended stays ended: [ErrExpired] after its deadline, [ErrLost] if on a majority the lock is
// gone or another's, [ErrReleased]. It is never acquired anew: somebody may have held the lock in
// between.
func (l *Lease) Extend(ctx context.Context) error {
	l.mu.Lock()
	err := l.heldLocked()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("redlock: extend %q: %w", l.name, context.Cause(ctx))
	}

	err = l.locker.extend(ctx, []*Lease{l})[0]
	l.lose(err)
	return err
}

// extend asks once for all these leases together, and returns what became of each. One that is lost is the
// caller's to end.
func (l *Locker) extend(ctx context.Context, leases []*Lease) []error {
	grants, tokens := make([]*grant, len(leases)), make([]uint64, len(leases))
	for i, lease := range leases {
		grants[i], tokens[i] = lease.grant, lease.token
		if lease.counted.Load() {
			tokens[i] = 0
		}
	}
	sent := l.clock.Now()
	round, cause := l.quorum.Ask(ctx, l.extension(grants, tokens), l.extended(len(leases)))
	answers := round.Answers()
	errs := make([]error, len(leases))
	for i, lease := range leases {
		t := l.count(answers, extending(i, len(leases)))
		if t.yes < l.need {
			errs[i] = lease.notExtended(l.failed("extend", lease.name, t, ErrLost, cause))
			continue
		}
		if t.yes == len(answers) {
			lease.counted.Store(true)
		}
		valid := validity{sent: sent, ttl: lease.ttl, drift: l.settings.Drift}
		if errs[i] = lease.prolong(valid.deadline()); errs[i] == nil {
			lease.repair(round, extending(i, len(leases)))
		}
	}
	return errs
}

// extension is the call that extends these holds and raises their fences to these tokens.
func (l *Locker) extension(grants []*grant, tokens []uint64) quorum.Call {
	keys := append(make([]string, 0, 1+2*len(grants)), l.guardKey())
	args := append(make([]any, 0, 2+3*len(grants)), l.longestLease(), l.quorum.Size())
	for i, g := range grants {
		keys = append(keys, g.key, g.fence)
		args = append(args, g.value, g.ttl.Milliseconds(), tokens[i])
	}
	return extendScript.Call(keys, args...)
}

// extended tells that the answers so far decide the outcome for each of n names.
func (l *Locker) extended(n int) func([]quorum.Answer) bool {
	return func(answers []quorum.Answer) bool {
		for i := range n {
			if !l.decided(answers, extending(i, n)) {
				return false
			}
		}
		return true
	}
}

// notExtended is err, or what has ended the lease while the nodes were asked.
func (l *Lease) notExtended(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.heldLocked(), err)
}

// lose ends the lease if err says that it is lost.
func (l *Lease) lose(err error) {
	if !errors.Is(err, ErrLost) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(err)
}

// prolong moves the deadline, never backwards, since extensions may overlap; and not that of a lease
// that ended while the nodes were asked.
func (l *Lease) prolong(deadline time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.heldLocked(); err != nil {
		return err
	}
	if deadline.After(l.deadline) {
		l.deadline = deadline
		if l.timer != nil {
			l.timer.Reset(deadline)
		}
	}
	return nil
}
