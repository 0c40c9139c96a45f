package register_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// Each node lacks some of them, so that its pages end elsewhere.
func TestNames_OfMorePagesThanOneAreAllThere(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var want []string
		a := c.leader(1)
		for node := range 3 {
			a.links.Heal()
			a.links.Cut(node)
			var plans []register.Plan
			for i := range 700 {
				plans = append(plans, register.Plan{Job: fmt.Sprintf("job %04d", 3*i+node), Text: "UTC @daily"})
				want = append(want, plans[i].Job)
			}
			for _, p := range a.Promise(t.Context(), 1, time.Now(), plans) {
				if p.Err != nil {
					t.Fatal(p.Err)
				}
			}
		}
		slices.Sort(want)
		for away := range 3 {
			b := c.leader(1)
			b.links.Cut(away)
			if got, err := b.Names(t.Context()); err != nil || !slices.Equal(got, want) {
				t.Errorf("without node %d: %d names (%v), want %d", away, len(got), err, len(want))
			}
		}
	})
}

// A year of the same jobs: their names stay as long as they are promised.
func TestNames_LastAsLongAsAnyJobIsPromised(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		a.mustPromise()
		const names = "{redlock}:jobs:x"
		for node := range 3 {
			c.Node(node).SetTTL(names, time.Hour)
		}
		a.mustPromise()
		for node := range 3 {
			if left := c.Node(node).TTL(names); left < 399*24*time.Hour {
				t.Errorf("node %d: the names are left for %v", node, left)
			}
		}
	})
}
