//go:build unix

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

// termRights are the rights in docs/operations.md for a user who records terms.
func termRights(t *testing.T) []string {
	t.Helper()
	const keys = "~{redlock}:terms:*"
	return append([]string{keys}, aclLine(t, `~\{redlock\}:terms:\*`)...)
}

// An election needs none of these rights. If one is missing, a replica leads all the same, and only a call for the
// terms returns an error.
func TestTermRights_AreEnoughNoneTooManyAndSpare(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1)
	server, all := admins(t, nodes.Addrs())[0], termRights(t)
	for i, right := range append([]string{"none"}, all...) {
		t.Run("without "+right, func(t *testing.T) {
			t.Parallel()
			user := fmt.Sprint("leader", i)
			setUser(t, server, user, append(rights(t), without(all, right)...))
			var reported complaints
			e, err := election.New(reported.of(lockerAs(t, user, "pw", nodes)), user)
			must(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }() // ends with stop, and is received below
			poll(t, "leader", e.IsLeader)
			terms, err := e.Terms(t.Context())
			if right == "none" {
				poll(t, "record", func() bool {
					terms, err = e.Terms(t.Context())
					return err != nil || len(terms) == 1
				})
			} else {
				poll(t, "denial", func() bool { return denials(t, server, user) > 0 })
			}
			if err != nil && (!errors.Is(err, redlock.ErrNoQuorum) || !denied.MatchString(err.Error())) {
				t.Errorf("got %v", err)
			}
			if asked := denials(t, server, user) > 0; asked == (right == "none") || right == "none" && err != nil {
				t.Errorf("%v; it asked for what it may not: %v", err, asked)
			}
			if !e.IsLeader() {
				t.Error("it does not lead")
			}
			stop()
			must(t, <-ended)
			wantReported(t, &reported)
		})
	}
}
