package conformance_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/integration/conformance"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports each failed dial on its own
	goleak.VerifyTestMain(m)
}

func TestConformance_OfNodesInMemory(t *testing.T) {
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
