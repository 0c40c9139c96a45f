package register_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// The nodes are past what comes in the first two seconds of a job, to the µs.
func TestTrigger_OfAJobThatIsNew(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		time.Sleep(300 * time.Microsecond)
		a := c.leader(1)
		state := a.mustPromise()
		s, err := a.Trigger(t.Context(), job, "pod-1")
		if err != nil {
			t.Fatal(err)
		}
		if !s.At().After(state.Manual) {
			t.Errorf("asked for at %v, where the leader takes all up to %v for settled", s.At(), state.Manual)
		}
	})
}

// Node 1 was admitted later than node 0, and votes for nothing up to that instant. Who asks for a run hears of node 0
// first, and of node 2, which knows nothing.
func TestTrigger_IsPastWhatEachNodeHasSettled(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		a.links.Cut(2)
		a.mustPromise()
		time.Sleep(time.Minute)
		c.Wipe(1)
		if _, err := a.promise(); err == nil {
			t.Fatal("promised by one node alone")
		}
		time.Sleep(longest)
		a.mustPromise()

		other := c.leader(0)
		other.links.Delay(timeout/20, 1)
		s, err := other.Trigger(t.Context(), job, "pod-0")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if state := a.mustPromise(); !s.At().After(state.Manual) {
			t.Errorf("runs by hand are settled up to %v, and one was asked for at %v", state.Manual, s.At())
		}
		record := a.record(s.At(), "a", 1)
		record.Slot.Manual = true
		o := a.Claim(t.Context(), a.token, a.memories, []register.Claim{{Job: job, Record: record}})[0]
		if !o.Won {
			t.Errorf("what was asked for cannot be claimed: %+v", o)
		}
	})
}
