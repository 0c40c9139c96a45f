//go:build unix

package integration_test

import (
	"fmt"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Newer servers keep the latest 500 scripts that came by EVAL, and drop older ones.
func TestScripts_ThatTheServerEvictedAreSentAgain(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1)
	server := admins(t, nodes.Addrs())[0]
	l := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout))
	rival := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout))
	const many = 600
	crowd := func(round int) {
		for i := range many {
			must(t, server.Eval(t.Context(), fmt.Sprintf("return %d", round*many+i), nil).Err())
		}
	}
	crowd(0)
	lease := acquire(t, l, "x")
	crowd(1)
	must(t, lease.Extend(t.Context()))
	crowd(2)
	_, err := rival.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrHeld)
	crowd(3)
	release(t, lease)
}
