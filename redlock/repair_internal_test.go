package redlock

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// A repair that comes to a node's queue behind the release must not set the lock again.
func TestRepair_DoesNothingAfterTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(1)
		defer c.Close()
		l, err := New(c.Links().Clients(), WithoutRestartGuard())
		if err != nil {
			t.Fatal(err)
		}
		lease, err := l.TryAcquire(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		late := &repair{lease: lease, token: digits(lease.token), until: l.clock.Now().Add(l.settings.NodeTimeout)}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		round, err := quorum.Ask(t.Context(), l.quorum, l.member.Load().repair.Call(late), l.jury.granted)
		if a := round.Answer(0); err != nil || !errors.Is(a.Err, errLate) {
			t.Errorf("the repair is answered by %+v, %v", a, err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
