package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// recipe follows docs/operations.md for a forged record of a lock, node by node.
func recipe(t *testing.T, c *redisproc.Cluster, lock string) {
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
		if n, err := node(t, c, i).Do(t.Context(), found[1], found[2], found[3]+lock).Int(); err != nil || n != 1 {
			t.Fatalf("%d fields deleted, %v", n, err)
		}
		until(t, "the node has a new guard, which is over", func() bool {
			_ = do("run", "--name", "another", "--", "true") // the first call starts the new guard
			g := guardOn(t, do, i)
			return g.Longest == ttl.Milliseconds() && g.Left == 0
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

func TestRecovery_FromAForgedFencingNumber(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	before := token(t, do, "x")
	const forged = 1 << 53
	records.Default.SetNumber(t, "x", forged, node(t, c, 0))
	if after := token(t, do, "x"); after <= before || after >= forged {
		t.Errorf("a minority has changed the token: %d after %d", after, before)
	}
	for i := range 3 {
		records.Default.SetNumber(t, "x", forged, node(t, c, i))
	}
	do("run", "--name", "x", "--", "true").want(t, noLease, "", "is more than a day ahead of the clock")
	recipe(t, c, "x")
	if after := token(t, do, "x"); after <= before || after >= forged {
		t.Errorf("token %d after %d", after, before)
	}
}

func TestRecovery_FromAHolderForYears(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	for i := range 3 {
		records.Default.Put(t, "x", records.SomebodyElse, 10*365*24*time.Hour, node(t, c, i))
	}
	do("lock", "x").want(t, 0, "someone else", "")
	do("run", "--name", "x", "--", "true").want(t, noLease, "", "held")
	recipe(t, c, "x")
	token(t, do, "x")
}

func TestRecovery_FromAForgedTerm(t *testing.T) {
	c := ready(t, servers(t))
	leader, stop := service(t, c, "pod-1")
	until(t, "it leads", leader.IsLeader)
	term, _ := leader.Term()
	stop()
	const forged = 1 << 53
	for i := range 3 {
		records.Default.SetNumber(t, "election:billing", forged, node(t, c, i))
	}
	on(c)("run", "--name", "election:billing", "--", "true").want(t, noLease, "", "is more than a day ahead of the clock")
	next, _ := service(t, c, "pod-2")
	recipe(t, c, "election:billing")
	until(t, "it leads", next.IsLeader)
	if next, ok := next.Term(); !ok || next.Token() <= term.Token() || next.Token() >= forged {
		t.Errorf("term %v after %v", next, term)
	}
}

// The settings of a job on a node have a date in the year 2255.
func TestRecovery_FromAForgedPause(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	leader, _ := service(t, c, "pod-1")
	until(t, "it leads", leader.IsLeader)
	until(t, "the nodes know the job", func() bool { return strings.Contains(do("jobs").out, "nightly report") })
	do("pause", "nightly report").want(t, 0, "is paused", "")
	paused := func() bool { return decode[[]job](t, do("jobs", "-o", "json"))[1].Paused }
	for i := range 2 { // a majority
		forgeDate(t, node(t, c, i), "{redlock}:settings:billing", "p:nightly report", 0)
	}
	do("resume", "nightly report").want(t, 0, "is resumed", "")
	if paused() {
		t.Error("it is still paused")
	}
	do("trigger", "nightly report").want(t, 0, "is triggered", "")
	until(t, "it has run", func() bool { return strings.Contains(do("history", "nightly report").out, "triggered") })
}

// A node whose header of the jobs has a ballot of the year 2255 corrects itself.
func TestRecovery_FromAForgedBallot(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	leader, _ := service(t, c, "pod-1")
	until(t, "it leads", leader.IsLeader)
	until(t, "the nodes know the job", func() bool { return strings.Contains(do("jobs").out, "nightly report") })
	for i := range 3 {
		forgeDate(t, node(t, c, i), "{redlock}:jobs:billing", "", 32)
	}
	ticks := func() int { return len(decode[past](t, do("history", "good", "-o", "json")).Ticks) }
	before := ticks()
	until(t, "ticks run again", func() bool { return ticks() > before+2 && ran(t, do) })
}

// ran reports whether the newest tick of the job has run.
func ran(t *testing.T, do func(...string) result) bool {
	t.Helper()
	all := decode[past](t, do("history", "good", "-o", "json")).Ticks
	return len(all) > 0 && all[0].State == "ok"
}

// forgeDate overwrites the 16 digits of an instant at a position in a field.
func forgeDate(t *testing.T, client *redis.Client, key, field string, place int) {
	t.Helper()
	text, err := client.HGet(t.Context(), key, field).Result()
	if err != nil || len(text) < place+16 {
		t.Fatalf("%q: %v", text, err)
	}
	text = text[:place] + fmt.Sprintf("%016d", 9_000_000_000_000_000) + text[place+16:]
	if err := client.HSet(t.Context(), key, field, text).Err(); err != nil {
		t.Fatal(err)
	}
}
