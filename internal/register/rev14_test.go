package register_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// Node 2 has not heard of the end of a run, and another one that has is admitted again: it knows better than that the
// run is under way.
func TestAdmit_TellsNotOfARunThatHasEnded(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a, tick := c.begun()
		a.wins(tick, "a")
		time.Sleep(timeout)
		a.links.Cut(2)
		a.ends(tick, "a")
		a.links.Heal()
		c.Restart(0)
		time.Sleep(longest + 2*time.Second)
		b := c.leader(2)
		b.mustPromise()
		time.Sleep(timeout)
		if f := c.fields(0); len(f) > 0 {
			t.Errorf("node 0 has %q", f)
		}
		b.links.Cut(1)
		v, err := b.Read(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Records) != 1 || v.Records[0].State != register.OK {
			t.Errorf("records %+v", v.Records)
		}
	})
}
