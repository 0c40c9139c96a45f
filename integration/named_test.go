//go:build unix

package integration_test

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

// Some managed services block CLIENT. There, connections have no name, but everything else works.
func TestOpen_NamesItsConnectionsWhereTheServerTakesNames(t *testing.T) {
	t.Parallel()
	for _, blocked := range []bool{false, true} {
		var args []string
		if blocked {
			args = []string{"--rename-command", "CLIENT", "RENAMED"}
		}
		nodes, err := redisproc.Start(t.Context(), 1, args...)
		must(t, err)
		closeAfter(t, nodes.Close)
		l, err := redlock.Open(nodes.Addrs(), redlock.WithTTL(ttl), redlock.WithoutRestartGuard(), redlock.WithNodeTimeout(longTimeout))
		must(t, err)
		lease, err := l.TryAcquire(t.Context(), "x")
		must(t, err)
		command := "CLIENT"
		if blocked {
			command = "RENAMED"
		}
		list, err := admins(t, nodes.Addrs())[0].Do(t.Context(), command, "LIST").Text()
		must(t, err)
		if named := strings.Contains(list, " name=redlockfx "); named == blocked {
			t.Errorf("where CLIENT is blocked, %v, the connections are\n%s", blocked, list)
		}
		release(t, lease)
		must(t, l.Close(t.Context()))
	}
}
