package conformance

import (
	"fmt"
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

// C13, with Pottery test_extend: extensions are bounded in number.
func optionsAgain(t *testing.T, w *World) {
	const every, extensions = 1100 * time.Millisecond, 2
	p := w.Process(t)
	shared := []redlock.AcquireOption{
		redlock.WithValue("the same"), redlock.WithLeaseTTL(4 * time.Second),
		redlock.WithAutoExtend(redlock.Extension{Every: every, Max: extensions}),
	}
	var leases []*redlock.Lease
	for i := range 3 {
		leases = append(leases, w.takeAll(t, p, fmt.Sprint(i), shared...))
	}
	moves, deadlines := make([]int, len(leases)), make([]time.Time, len(leases))
	for i, lease := range leases {
		deadlines[i] = lease.Deadline()
		holder, err := p.Holder(t.Context(), lease.Name())
		if err != nil || holder.Value != "the same" {
			t.Errorf("holder %d is %+v, %v", i, holder, err)
		}
	}
	w.Await(t, "end of leases that are extended no more", 4*time.Second+extensions*every, func() bool {
		over := true
		for i, lease := range leases {
			if d := lease.Deadline(); d.Sub(deadlines[i]) > every/2 {
				deadlines[i] = d
				moves[i]++
			}
			over = over && !lease.Valid()
		}
		return over
	})
	for i, lease := range leases {
		if moves[i] != extensions {
			t.Errorf("lease %d was extended %d times, want %d", i, moves[i], extensions)
		}
		want.Err(t, lease.Extend(t.Context()), redlock.ErrExpired)
	}
}
