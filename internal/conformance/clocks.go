package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var clockCases = []Case{
	{
		Name: "A lease is shortened by the time for which its machine was suspended, and never prolonged", Run: suspended,
		Server: "in a bubble, no time has a monotonic reading",
	},
	{Name: "A node whose clock is stepped ahead does not end a lease early", Run: stepped(2 * TTL)},
	{Name: "A node whose clock is set back does not end a lease early", Run: stepped(-2 * TTL)},
}

// C16, and the lease's part of C17: what the lease reports right after waking, before any timer has run. A step of the
// wall clock does not move a deadline that has a monotonic reading.
func suspended(t *testing.T, w *World) {
	const slept = TTL / 4
	c := clock.New()
	p := w.Process(t, inside.WithClock(c).(redlock.Option))
	lease := w.takeAll(t, p, "x")
	work, until := lease.Context(), lease.Deadline()
	if monotonic := " m="; strings.Contains(time.Now().String(), monotonic) && // not in a bubble
		!strings.Contains(until.String(), monotonic) {
		t.Errorf("the deadline depends on the wall clock: %v", until)
	}
	c.Suspend(-time.Hour)
	if moved := lease.Deadline().Sub(until).Abs(); moved > w.Busy {
		t.Errorf("after a clock was set back the deadline moved by %v", moved)
	}
	c.Suspend(slept)
	if moved := until.Sub(lease.Deadline()); moved < slept || moved > slept+w.Busy || !lease.Valid() {
		t.Errorf("after %v of sleep the deadline is %v nearer, valid: %v", slept, moved, lease.Valid())
	}
	c.Suspend(time.Hour)
	if lease.Valid() {
		t.Error("valid after an hour of sleep")
	}
	want.Err(t, lease.Extend(t.Context()), redlock.ErrExpired)
	w.Await(t, "end of its context", 250*time.Millisecond, func() bool { return work.Err() != nil })
	want.Err(t, context.Cause(work), redlock.ErrExpired)
}

// Kleppmann's first scenario; redlock-universal "clock drift rejects". The rivals reach two nodes: one that has not
// granted the lease, and one that has granted it and whose clock is stepped. One of the rivals has seen the nodes'
// clocks before.
func stepped(by time.Duration) func(*testing.T, *World) {
	return func(t *testing.T, w *World) {
		p, rivals := w.Process(t), []*Process{w.Process(t), w.Process(t)}
		p.warm(t)
		p.Cut(2)
		rivals[0].warm(t)
		for _, rival := range rivals {
			rival.Cut(0)
		}
		lease := p.take(t, "x", redlock.WithLeaseTTL(TTL/2))
		w.cluster().Jump(1, by)
		for lease.Valid() {
			for i, rival := range rivals {
				if _, err := rival.TryAcquire(t.Context(), "x"); err == nil {
					t.Fatalf("two holders, the second is rival %d", i)
				}
			}
			time.Sleep(NodeTimeout)
		}
		rivals[0].Heal()
		rivals[0].take(t, "x") // from the two nodes whose clocks agree
	}
}
