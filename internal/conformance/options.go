package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var optionCases = []Case{
	{Name: "A TTL is accepted at its bounds and refused beyond them", Run: boundsOfTTL},
	{Name: "Options can be reused with the same effect", Run: optionsAgain},
}

// C20; node-redlock "refuses non-integer duration".
func boundsOfTTL(t *testing.T, w *World) {
	p := w.Process(t)
	for ttl, fits := range map[time.Duration]bool{
		-time.Second: false, 0: false, time.Nanosecond: false, 50 * time.Millisecond: false,
		redlock.MinTTL - 1: false, redlock.MinTTL: true, redlock.MinTTL + 999*time.Microsecond: true,
		TTL: true, TTL + 1: false, time.Hour: false,
	} {
		name := ttl.String()
		began := time.Now()
		var err error
		if fits {
			lease := p.take(t, name, redlock.WithLeaseTTL(ttl))
			if left := lease.Deadline().Sub(began); left >= ttl+w.Busy {
				t.Errorf("with ttl %v it is held for %v", ttl, left)
			}
			release(t, lease)
		} else {
			_, err = p.TryAcquire(t.Context(), name, redlock.WithLeaseTTL(ttl))
			want.Err(t, err, redlock.ErrConfig)
			want.Text(t, err, ttl.String(), redlock.MinTTL.String(), TTL.String())
		}
		w.left(t, 0, name)
	}
}

// C13: options that several acquisitions share are not changed by any of them.
func optionsAgain(t *testing.T, w *World) {
	p := w.Process(t)
	shared := []redlock.AcquireOption{
		redlock.WithValue("the same"), redlock.WithLeaseTTL(4 * time.Second),
		redlock.WithAutoExtend(redlock.Extension{Every: 1100 * time.Millisecond}),
	}
	var leases []*redlock.Lease
	for i := range 3 {
		leases = append(leases, w.takeAll(t, p, fmt.Sprint(i), shared...))
	}
	for i, lease := range leases {
		holder, err := p.Holder(t.Context(), lease.Name())
		if err != nil || holder.Value != "the same" {
			t.Errorf("holder %d is %+v, %v", i, holder, err)
		}
	}
	w.Lasts(t, "leases that are extended", 5*time.Second, func() bool {
		return !slices.ContainsFunc(leases, func(lease *redlock.Lease) bool { return !lease.Valid() })
	})
	for _, lease := range leases {
		release(t, lease)
	}
}
