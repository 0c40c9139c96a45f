// Package accept decides for a test what a person decides with redlockctl nodes --join.
package accept

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Nodes makes the nodes of a Locker its list, whatever they remember. It is for tests in which so many nodes lose their data at a time
// that the others cannot know whether they are still that list. Each node must answer.
func Nodes(t testing.TB, l *redlock.Locker) {
	t.Helper()
	want.NoError(t, inside.Of(l).JoinNodes(t.Context())...)
}

// IfNeeded is Nodes if the nodes wait for a person to decide. It takes a lock for a moment to find out.
func IfNeeded(t testing.TB, l *redlock.Locker) {
	t.Helper()
	lease, err := l.TryAcquire(t.Context(), "accept")
	if err == nil {
		want.NoError(t, lease.Release(t.Context()))
	} else if strings.Contains(err.Error(), "redlockctl nodes --join") {
		Nodes(t, l)
	}
}
