package register_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

const names = "{redlock}:jobs:x"

// Each node lacks some of them, so that its pages end elsewhere.
func TestNames_OfMorePagesThanOneAreAllThere(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.leader(1).mustPromise()
		want := []string{job}
		for i := range 2100 {
			name := fmt.Sprintf("job %04d", i)
			want = append(want, name)
			for node := range 3 {
				if node == i%3 {
					continue
				}
				if _, err := c.Node(node).ZAdd(names, 0, name); err != nil {
					t.Fatal(err)
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
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		a.mustPromise()
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
