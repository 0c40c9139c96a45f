package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// recipe follows docs/operations.md for forged records of locks, node by node.
func recipe(t *testing.T, c *redisproc.Cluster, locks ...string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("then `redis-cli -h r1 (HDEL) ({redlock}) (n:)<name>`").FindStringSubmatch(string(text))
	if found == nil {
		t.Fatal("the recipe is missing in the document")
	}
	do := on(c)
	for i, addr := range c.Addrs() {
		do("guard", "--reset", "--node", addr, "--yes").want(t, 0, addr, "")
		for _, lock := range locks {
			if n, err := node(t, c, i).Do(t.Context(), found[1], found[2], found[3]+lock).Int(); err != nil || n != 1 {
				t.Fatalf("%d fields deleted, %v", n, err)
			}
		}
		until(t, "the node has a new guard, which is over", func() bool {
			_ = do("run", "--name", "another", "--", "true") // the first call starts the new guard
			g := guardOn(t, do, i)
			return g.Longest == float64(ttl.Milliseconds()) && g.Left == 0
		})
	}
}

// token returns the token of the next holder of a lock.
func token(t *testing.T, do func(...string) result, lock string) uint64 {
	t.Helper()
	r := do("run", "--name", lock, "--wait", "20s", "--", "sh", "-c", "echo $REDLOCK_TOKEN")
	n, err := strconv.ParseUint(strings.TrimSpace(r.out), 10, 64)
	if err != nil {
		t.Fatalf("%+v", r)
	}
	return n
}

// One lock has a forged fencing number, and another a holder for ten years. Then the longest lease is forged on all
// nodes, too: nobody gets a lock for a day, unless the guards are reset one node at a time.
func TestRecovery_FromForgedRecords(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	do("guard").want(t, 0, c.Addrs()[0]+"  20", "")
	if g := guardOn(t, do, 0); g.Longest != float64(ttl.Milliseconds()) || len(g.Label) != 16 || g.Left != 0 || g.Since.IsZero() || g.Error != "" {
		t.Errorf("before: %+v", g)
	}
	before := token(t, do, "x")
	const forged = 1 << 53
	records.Default.SetNumber(t, "x", forged, node(t, c, 0))
	if after := token(t, do, "x"); after <= before || after >= forged {
		t.Errorf("a minority has changed the token: %d after %d", after, before)
	}
	for i := range 3 {
		records.Default.SetNumber(t, "x", forged, node(t, c, i))
		records.Default.Put(t, "y", records.SomebodyElse, 10*365*24*time.Hour, node(t, c, i))
	}
	do("run", "--name", "x", "--", "true").want(t, noLease, "", "is too large to count on")
	do("lock", "y").want(t, 0, "someone else", "")
	do("run", "--name", "y", "--", "true").want(t, noLease, "", ": the holder may extend its lease")
	for i := range 3 {
		records.Default.ForgeLongest(t, 24*time.Hour, node(t, c, i))
	}
	do("run", "--name", "x", "--", "true").want(t, noLease, "", "another 23h59m")
	do("guard").want(t, 0, "24h0m0s", "")
	recipe(t, c, "x", "y")
	if after := token(t, do, "x"); after <= before || after >= forged {
		t.Errorf("token %d after %d", after, before)
	}
	token(t, do, "y")
}
