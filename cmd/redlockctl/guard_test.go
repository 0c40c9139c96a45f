package main

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	nodeguard "github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// node returns a client of one node, to forge values as somebody with write access could.
func node(t *testing.T, c *redisproc.Cluster, i int) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: c.Addrs()[i]})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// guardJSON is a node's guard, decoded as a user's program would.
type guardJSON struct {
	Since   time.Time
	Left    float64 `json:"guard_ms"`
	Longest float64 `json:"longest_lease_ms"`
	Label   string
	Error   string
}

// guardOn returns the guard of a node as the guard command shows it.
func guardOn(t *testing.T, do func(...string) result, i int) guardJSON {
	t.Helper()
	return decode[[]guardJSON](t, do("guard", "-o", "json"))[i]
}

func TestGuard_ResetsOneNodeAndOnlyWhereItIsMeant(t *testing.T) {
	c := ready(t, servers(t))
	do, addr := on(c), c.Addrs()[1]
	do("guard", "--reset", "--node", addr).want(t, misused, "", "add --yes")
	do("guard", "--reset", "--yes").want(t, misused, "", "give --node HOST:PORT")
	do("guard", "--node", addr).want(t, misused, "", "are only for --reset")
	do("guard", "--reset", "--node", "other:1", "--yes").want(t, misused, "", `--node "other:1" is not one of the 3 nodes`)
	for i := range 3 {
		if g := guardOn(t, do, i); g.Longest == 0 {
			t.Errorf("node %d has lost its guard", i)
		}
	}
	do("guard", "--reset", "--node", addr, "--yes").want(t, 0, addr, "")
	for i := range 3 {
		if g := guardOn(t, do, i); (g.Longest == 0) != (i == 1) {
			t.Errorf("node %d: %+v", i, g)
		}
	}
	do("guard", "--reset", "--node", addr, "--yes").want(t, no, "", "has no guard")
	for _, other := range []string{c.Addrs()[0], c.Addrs()[2]} {
		do("guard", "--reset", "--node", other, "--yes", "-o", "json").want(t, 0, `"action": "reset"`, "")
	}
	do("guard").want(t, 0, addr+"  (none)", "")
	local := strings.ReplaceAll(strings.Join(c.Addrs(), ","), "127.0.0.1", "localhost")
	do("guard", "-n", local).want(t, 0, addr+"  (none)", "") // as nodes shows it
	// After a reset a node refuses the first call, because it may have lost a lease.
	do("run", "--name", "x", "--", "true").want(t, noLease, "", "grants nothing")
	// Texts from a guard of another layout do not reach the terminal unescaped.
	raw(t, c, "HSET", "{redlock}", nodeguard.Field, hostile)
	r := do("guard")
	if !strings.Contains(r.out, "this version did not write the guard") || strings.ContainsFunc(strings.ReplaceAll(r.out, "\n", ""), isUnsafe) {
		t.Errorf("%+v", r)
	}
	want.NoError(t, c.Node(1).Kill())
	do("guard", "--reset", "--node", addr, "--yes").want(t, unreachable, "", "failed to delete the guard")
	do("guard").want(t, 0, addr+"  dial tcp", "")
	want.NoError(t, c.Node(2).Kill())
	do("guard").want(t, unreachable, c.Addrs()[0]+"  ", "1 of 3 nodes answered, 2 needed: "+addr)
}
