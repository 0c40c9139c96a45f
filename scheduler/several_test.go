package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// A node whose address leads to several servers has no vote on a tick. So with another node away nothing starts, and with
// one server at that address everything goes on.
func TestTicks_AreNotVotedOnByAnAddressOfSeveralServers(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * *", quick))
		a.links.LeadInTurn(0, 0, 1)
		c.SleepTo(10*time.Minute + 30*time.Second) // by now it was looked at
		if ran := c.ran(); !slices.Contains(ran, "job 10m0s@10m0s") {
			t.Errorf("two other nodes are enough, and the last runs were %v", ran)
		}
		a.links.Cut(2)
		c.SleepTo(12*time.Minute + 30*time.Second)
		if ran := c.ran(); ran[len(ran)-1] != "job 10m0s@10m0s" {
			t.Errorf("ran %v with one node that counts", ran)
		}
		want.Text(t, a.elector.Locker().Nodes(t.Context())[0].Err, "its address leads to several servers")
		_, err := a.Jobs(t.Context())
		want.Text(t, err, "its address leads to several servers")
		a.links.LeadInTurn(0, 0)
		c.SleepTo(15*time.Minute + 30*time.Second)
		if ran := c.ran(); ran[len(ran)-1] != "job 15m0s@15m0s" {
			t.Errorf("ran %v since the address leads to one server", ran)
		}
	})
}
