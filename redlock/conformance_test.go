package redlock_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/redlockfx/redlockfx/internal/conformance"
)

// The same cases run on redis-server processes in package integration.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range conformance.Cases() {
		if c.OnServersOnly != "" {
			t.Logf("not in memory: %s: %s", c.Name, c.OnServersOnly)
			continue
		}
		c.Each(func(nodes int) {
			t.Run(fmt.Sprintf("%s, %d nodes", c.Name, nodes), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					conformance.Run(t, c, conformance.InMemory(t, nodes))
				})
			})
		})
	}
}
