package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// says fails the test unless doctor exits with the code and has a line of that state and text.
func (r result) says(t *testing.T, code int, state, about, text string) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + state + ` +` + about + ` .*` + regexp.QuoteMeta(text))
	if r.code != code || !line.MatchString(r.out) {
		t.Errorf("%+v, want code %d and a %s about %s: %s", r, code, state, about, text)
	}
}

func TestDoctor_JudgesAnElectionAndItsJobs(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	do("doctor").says(t, no, "problem", "leader", `no term of an election "billing" is recorded`)
	do("doctor").says(t, no, "note", "jobs", "the nodes have none: no leader has stored any yet")
	do("doctor", "-e", "").says(t, 0, "note", "leader", "not asked")
	fails := scheduler.Job{Name: "orphan", Spec: "@every 1s", Run: func(context.Context, scheduler.Run) error { return errors.New("it is full") }}
	released := make(chan struct{})
	hangs := scheduler.Job{
		Name: "hangs", Spec: "@every 1s", Timeout: time.Millisecond,
		Run: func(context.Context, scheduler.Run) error { <-released; return nil },
	}
	once := scheduler.Job{Name: "once", Spec: "@at 2020-01-01T00:00:00Z", Run: func(context.Context, scheduler.Run) error { return nil }}
	_, stop := led(t, c, fails, hangs, once)
	until(t, "its timeout has passed", func() bool { return strings.Contains(do("jobs").out, "no end within") })
	do("doctor").says(t, no, "problem", "jobs", "hangs runs on pod-1 since ")
	close(released)
	until(t, "a run has failed", func() bool { return strings.Contains(do("history", "orphan").out, "failed") })
	do("doctor").says(t, no, "problem", "jobs", "orphan has failed")
	do("doctor").says(t, no, "ok", "leader", "pod-1 leads since ")
	if out := do("doctor").out; strings.Contains(out, "once") {
		t.Errorf("a job whose only tick has passed is in %s", out)
	}
	do("pause", "orphan", "--as", "ann", "--reason", "freeze").want(t, 0, "", "")
	do("doctor").says(t, no, "note", "jobs", "orphan is paused by ann since ")
	do("resume", "orphan").want(t, 0, "", "")
	stop()
	until(t, "jobs wait", func() bool { return strings.Contains(do("doctor").out, "wait for a leader") })
	do("doctor").says(t, no, "problem", "leader", `the last was "pod-1"`)
	next, _ := service(t, c, "pod-2")
	until(t, "the next one leads", next.IsLeader)
	until(t, "it does not run the job", func() bool { return strings.Contains(do("doctor").out, "has no owner") })
	do("doctor").says(t, no, "problem", "jobs", "orphan has no owner: pod-2 leads and does not have it")
}

// The nodes have no memory left for the state of jobs, and extend the leader's lease all the same.
func TestDoctor_FindsTicksThatAreLate(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	ran := make(chan struct{}, 100)
	led(t, c, scheduler.Job{Name: "late", Spec: "@every 1s", Run: func(context.Context, scheduler.Run) error {
		ran <- struct{}{}
		return nil
	}})
	<-ran
	raw(t, c, "CONFIG", "SET", "maxmemory", "1")
	until(t, "a tick is late", func() bool { return strings.Contains(do("doctor").out, "late is late since ") })
	do("doctor").says(t, no, "problem", "jobs", "late is late since ")
}

func TestDoctor_JudgesTheNodes(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	_, stop := led(t, c)
	for _, j := range decode[[]judgment](t, do("doctor", "-o", "json")) {
		if j.State != "ok" || j.Text == "" {
			t.Errorf("%+v", j)
		}
	}
	for about, text := range map[string]string{
		"nodes": "3 of 3 count", "clock": "the clocks of 3 nodes agree", "twins": "no two", "eviction": "no node", "identity": "known",
		"guard": "no guard is running", "list": "all nodes that answer are in one list", "rights": "all rights of a service", "leader": "pod-1 leads", "jobs": "2, none of them late",
	} {
		do("doctor").says(t, 0, "ok", about, text)
	}
	stop()

	twin, err := c.Node(0).Proxy()
	want.NoError(t, err)
	addrs := c.Addrs()
	do("doctor", "-n", strings.Join([]string{addrs[0], twin.Addr(), addrs[2]}, ",")).
		says(t, no, "problem", "twins", twin.Addr()+": not fit to be a node: it is the same server as "+addrs[0])
	do("doctor", "-n", addrs[0]).says(t, no, "problem", "list", addrs[0]+": in a list of 3 nodes, this one has 1")
	raw(t, c, "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
	do("doctor").says(t, no, "problem", "eviction", addrs[1]+": maxmemory-policy is allkeys-lru")

	do("guard", "--reset", "--node", addrs[1], "--yes").want(t, 0, "", "")
	do("doctor").says(t, no, "problem", "guard", addrs[1]+": no guard yet")
	do("run", "--ttl", "1m", "--name", "x", "--", "true").want(t, noLease, "", "grants nothing")
	do("doctor").says(t, no, "problem", "guard", addrs[1]+": grants nothing until ")
	want.NoError(t, c.Node(0).Kill())
	do("doctor").says(t, no, "problem", "nodes", addrs[0]+": ")
	want.NoError(t, c.Node(1).Kill())
	do("doctor").says(t, unreachable, "note", "leader", "too few nodes count")
	do("doctor", "nodes").want(t, misused, "", "usage: redlockctl doctor")
}

func TestDoctor_NamesRightsThatTheUserLacks(t *testing.T) {
	c := ready(t, servers(t))
	as := func(user string, rights ...string) result {
		args := []any{"ACL", "SETUSER", user, "reset", "on", ">pw", "~{redlock}", "~{redlock}:*"}
		for _, right := range rights {
			args = append(args, right)
		}
		raw(t, c, args...)
		var urls []string
		for _, addr := range c.Addrs() {
			urls = append(urls, "redis://"+user+":pw@"+addr)
		}
		return call("--nodes-file", nodesFile(t, 0o600, strings.Join(urls, "\n")), "--ttl", ttl.String(), "doctor")
	}
	all := documented(t, "locks")
	as("service", append(all, "&{redlock}:*")...).says(t, 0, "ok", "rights", "all rights of a service")
	as("deaf", all...).says(t, no, "problem", "rights", "the user lacks +publish +subscribe for locks")
	less := slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == "+hgetall" || r == "+pexpire" })
	as("less", append(less, "&{redlock}:*")...).says(t, no, "problem", "rights", "the user lacks +hgetall for jobs")
	few := slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == "+hdel" })
	as("few", append(few, "&{redlock}:*")...).says(t, no, "problem", "rights", "the user lacks +hdel for locks")
	as("viewer", documented(t, "viewer")...).says(t, 0, "note", "rights", "fine for a viewer")
	as("reader", "+client|setname", "+evalsha", "+eval", "+script|load", "+info", "+time", "+hget", "+hmget").
		says(t, 0, "note", "rights", "the user lacks +hlen +lrange +zrangebylex to read jobs: fine for")
	less = slices.DeleteFunc(documented(t, "viewer"), func(r string) bool { return r == "+lrange" })
	as("partial", less...).says(t, no, "problem", "rights", "the user lacks +lrange to read jobs, or")

	locks := documentedLines(t, "locks")
	as("jobless", append(locks[0], "&{redlock}:*")...).says(t, 0, "note", "rights", "a service that does without")
	as("termless", slices.Concat(locks[0], locks[1], []string{"&{redlock}:*"})...).
		says(t, 0, "note", "rights", "the user lacks +pexpire +zremrangebyrank +zrevrange for terms: fine for")
}

// documented returns the rights that docs/operations.md gives to a user.
func documented(t *testing.T, user string) []string {
	t.Helper()
	all := slices.Concat(documentedLines(t, user)...)
	slices.Sort(all)
	return slices.Compact(all)
}

func documentedLines(t *testing.T, user string) (all [][]string) {
	t.Helper()
	for _, line := range regexp.MustCompile(`(?m)^ +ACL SETUSER `+user+` .+$`).FindAllString(read(t, "../../docs/operations.md"), -1) {
		all = append(all, regexp.MustCompile(`\+\S+`).FindAllString(line, -1))
	}
	return all
}

func TestNeeds_AreTheRightsOfTheDocuments(t *testing.T) {
	var all []string
	for i, n := range needs {
		for _, command := range n.commands {
			all = append(all, rightOf(command))
		}
		slices.Sort(all)
		if viewer := documented(t, "viewer"); i == 1 && !slices.Equal(append(slices.Clone(all), "+zrevrange"), viewer) {
			t.Errorf("to read: %q, and terms; the documents have %q", all, viewer)
		}
	}
	if locks := documented(t, "locks"); !slices.Equal(all, locks) {
		t.Errorf("%q, the documents have %q", all, locks)
	}
}
