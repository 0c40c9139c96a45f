// Package passworded gives tests a Locker whose node has a password, so that they can search output for it.
package passworded

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Password must not appear in any output.
const Password = "S3cretPassw0rd"

// Open returns a Locker of one node with a real socket. The node requires the password. The Locker is closed at the end
// of the test.
func Open(t *testing.T) *redlock.Locker {
	t.Helper()
	server := miniredis.RunT(t)
	server.RequireUserAuth("locks", Password)
	l, err := redlock.Open([]string{"redis://locks:" + Password + "@" + server.Addr()},
		redlock.WithUnseenRestarts(), redlock.WithoutRestartGuard())
	want.NoError(t, err)
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Elector returns an elector on such a Locker.
func Elector(t *testing.T, opts ...election.Option) *election.Elector {
	t.Helper()
	e, err := election.New(Open(t), "x", opts...)
	want.NoError(t, err)
	return e
}
