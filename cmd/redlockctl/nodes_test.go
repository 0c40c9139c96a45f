package main

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// From three nodes to one: only a person knows that nobody uses the other two any more.
func TestNodes_JoinMakesTheNodesThatAnswerTheList(t *testing.T) {
	c := ready(t, servers(t))
	alone := func(args ...string) result {
		return call(append([]string{"-n", c.Addrs()[0], "--ttl", ttl.String(), "-e", "billing"}, args...)...)
	}
	alone("run", "--name", "x", "--", "true").want(t, noLease, "", "accept these nodes with redlockctl nodes --join")
	alone("nodes").want(t, 0, "joined, list of 3, turn 1, another list", "")
	alone("nodes", "--join").want(t, misused, "", "add --yes")
	alone("nodes", "--yes").want(t, misused, "", "--yes is only for --join")
	alone("nodes", "--join", "--yes").want(t, 0, "joined, list of 1, turn 2", "")
	if out := on(c)("nodes").out; strings.Count(out, "another list") != 1 || !strings.Contains(out, "joined, list of 1, turn 2, another list") {
		t.Errorf("two of three nodes serve the list of three:\n%s", out)
	}
	alone("run", "--name", "x", "--wait", "30s", "--", "true").want(t, 0, "", "")

	want.NoError(t, c.Node(1).Kill())
	want.NoError(t, c.Node(2).Kill())
	on(c)("nodes", "--join", "--yes").want(t, unreachable, "", "nothing was changed: 1 of 3 nodes answered, 2 needed")
}
