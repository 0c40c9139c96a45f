package redlock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestLocker_ForgetsLeasesThatRanOutUnnoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(1)
		defer c.Close()
		l, err := New(c.Links().Clients(), WithTTL(time.Second), WithoutRestartGuard())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 500 { // several sweeps
			if _, err := l.TryAcquire(t.Context(), fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
			if got := len(l.leases.all); got > 2*10+minSweep+1 {
				t.Fatalf("%d leases are kept after %d, ten of which last", got, i)
			}
		}
		time.Sleep(time.Second)
		if err := l.Close(t.Context()); err != nil {
			t.Errorf("all have run out, and Close says: %v", err)
		}
	})
}

// What one node answers, which may be no node of ours, keeps a node whose clock was stepped away for a day at most, or a hundred
// times the own longest lease, and while it says so.
func TestLocker_QuarantineHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(3)
		defer c.Close()
		l, err := New(c.Links().Clients(), WithTTL(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for said, want := range map[time.Duration]time.Duration{
			0: time.Second, time.Minute: time.Minute, 10 * 365 * 24 * time.Hour: 24 * time.Hour,
		} {
			l.observed.seeLongest(1, said)
			if got := l.observed.quarantine(); got != want {
				t.Errorf("with leases of %v it is %v, want %v", said, got, want)
			}
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
