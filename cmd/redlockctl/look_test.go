package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestLook_AtALifeOfAnElectionAndItsJobs(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	do("leader").want(t, no, "", "no leader")
	do("leader", "-o", "json").want(t, no, `"leader": null`, "no leader")
	do("lock", "election:billing", "other").want(t, no, "other             (free)", `nobody holds ["election:billing" "other"]`)
	do("lock", "other", "-o", "json").want(t, no, `"held": false`, "nobody holds")
	do("jobs", "-o", "json").want(t, no, "[]", "no leader")
	leader, stop := service(t, c, "pod-1")
	until(t, "it leads", leader.IsLeader)
	until(t, "its job has run", func() bool { return strings.Contains(do("history", "good").out, "ok") })

	do("leader").want(t, 0, "pod-1", "")
	l := decode[struct {
		Leader struct {
			ID, Value string
			Term      uint64
			Lease     float64 `json:"lease_ms"`
		}
	}](t, do("leader", "-o", "json")).Leader
	if term, ok := leader.Term(); !ok || l.ID != "pod-1" || l.Value != "http://pod-1" || l.Term != term.Token() || l.Lease <= 0 {
		t.Errorf("%+v", l)
	}
	do("nodes").want(t, 0, "votes", "")
	if all := decode[[]map[string]any](t, do("nodes", "-o", "json")); len(all) != 3 || all[0]["addr"] != c.Addrs()[0] {
		t.Errorf("nodes %v", all)
	}
	do("lock", "election:billing", "other").want(t, 0, "(free)", "")
	do("jobs").want(t, 0, "30 2 * * *  Europe/Berlin", "")
	do("jobs", "BERLIN").want(t, 0, "nightly report", "")
	if r := do("jobs", "berlin", "-o", "json"); strings.Contains(r.out, `"good"`) {
		t.Errorf("jobs in Berlin: %+v", r)
	}
	do("jobs", "--only", "trouble", "-o", "json").want(t, no, "[]", "none of the 2 jobs matches")
	do("jobs", "--only", "sick").want(t, misused, "", `--only "sick" must be one of trouble, failed, paused, running`)
	do("history", "none", "-o", "json").want(t, no, `"records": []`, `"none"`)
	list := decode[[]job](t, do("jobs", "-o", "json"))
	if len(list) != 2 || list[0].Name != "good" || list[0].Last == nil || list[1].Zone != "Europe/Berlin" || list[1].Next.IsZero() {
		t.Errorf("jobs %+v", list)
	}

	if r := call("__complete", "-n", strings.Join(c.Addrs(), ","), "-e", "billing", "trigger", ""); !strings.Contains(r.out, "nightly report\n") {
		t.Errorf("completion knows no jobs: %+v", r)
	}

	for _, args := range [][]string{{"history", "none"}, {"trigger", "none"}, {"pause", "none"}, {"resume", "none"}} {
		do(args...).want(t, no, "", `"none"`)
	}

	for _, command := range []string{"jobs", "leader"} {
		do(command, "-e", "billling").want(t, no, "",
			`no term of an election "billling" is recorded under the prefix "redlock": did you mean "billing"?`)
		do(command, "-e", "reports").want(t, no, "", `the nodes know ["billing"]`)
		do(command, "--prefix", "other").want(t, no, "", `or nothing has been locked under the prefix "other"`)
	}

	watch, seen := process(t, c, "leader", "--watch", "--every", "100ms", "-o", "json")
	until(t, "the watch shows the leader", func() bool { return strings.Contains(seen.String(), `"id":"pod-1"`) })
	next, stopNext := service(t, c, "pod-2")
	stop()
	until(t, "the next one leads", next.IsLeader)
	until(t, "the watch shows it", func() bool { return strings.Contains(seen.String(), `"id":"pod-2"`) })
	want.NoError(t, watch.Process.Signal(os.Interrupt))
	if err := watch.Wait(); err != nil {
		t.Errorf("the watch ended with %v: %s", err, seen)
	}
	stopNext()
	until(t, "it has stopped", func() bool { return do("leader").code == no })
	do("leader").want(t, no, "", `no leader of "billing": the last was "pod-2", from `)
	do("jobs").want(t, 0, "nightly report", "")
	raw(t, c, "DEL", "{redlock}:terms:billing")
	do("leader").want(t, no, "", `no leader of "billing": somebody has led, but no term is recorded, so it is not known who and when`)
}

func TestLook_WithNodesDown(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	want.NoError(t, c.Node(0).Kill())
	do("nodes").want(t, 0, "connection refused", "")
	want.NoError(t, c.Node(1).Kill())
	do("nodes").want(t, unreachable, c.Addrs()[2]+"  votes", "1 of 3 nodes count, 2 needed: "+c.Addrs()[0])
	do("nodes", "-o", "json").want(t, unreachable, `"error": "`, "1 of 3 nodes count")
	for _, args := range [][]string{{"leader"}, {"jobs"}, {"history", "x"}, {"pause", "x"}, {"lock", "x"}} {
		do(args...).want(t, unreachable, "", "quorum")
	}
	want.NoError(t, c.Node(2).Kill())
	do("nodes").want(t, unreachable, "connection refused", "0 of 3 nodes count, 2 needed")
	do("run", "--name", "x", "--", "true").want(t, noLease, "", "quorum")
	do("run", "--name", "x", "--wait", "300ms", "--", "true").want(t, noLease, "", "quorum")
}

func TestLook_WithAWrongPassword(t *testing.T) {
	var urls []string
	for _, addr := range servers(t).Addrs() {
		client := redis.NewClient(&redis.Options{Addr: addr})
		err := errors.Join(client.ConfigSet(t.Context(), "requirepass", "right").Err(), client.Close())
		want.NoError(t, err)
		urls = append(urls, "redis://:wrong@"+addr)
	}
	for _, args := range [][]string{{"leader"}, {"lock", "x"}, {"jobs"}, {"nodes"}, {"run", "--name", "x", "--wait", "1m", "--", "true"}} {
		r := call(append([]string{"--nodes-file", nodesFile(t, 0o600, strings.Join(urls, "\n")), "-e", "billing"}, args...)...)
		if r.code == 0 || !strings.Contains(r.err, "WRONGPASS") || strings.Contains(r.err, "wrong@") || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// Only run changes the guards: inspecting or pausing with a mistyped TTL, or with a list of one node, leaves them as
// they are.
func TestLook_ChangesNothingOnTheNodes(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	_, stop := led(t, c)
	stop()
	wrongly := func(args ...string) {
		for _, nodes := range []string{strings.Join(c.Addrs(), ","), c.Addrs()[0]} {
			_ = do(append([]string{"-n", nodes, "--ttl", "24h"}, args...)...) // a node may refuse the command
		}
	}
	before, guards := stored(t, c), do("guard").out
	for _, args := range [][]string{{"leader"}, {"nodes"}, {"jobs"}, {"history", "good"}, {"lock", "election:billing"}, {"guard"}, {"doctor"}} {
		wrongly(args...)
		if after := stored(t, c); !maps.Equal(after, before) {
			t.Errorf("%s has changed what the nodes keep", args[0])
		}
	}
	for _, args := range [][]string{{"pause", "good"}, {"resume", "good"}, {"trigger", "good"}} {
		wrongly(args...)
		if now := do("guard").out; now != guards {
			t.Errorf("%s has changed the guards from\n%s to\n%s", args[0], guards, now)
		}
	}
	do("run", "--name", "x", "--wait", "10s", "--", "true").want(t, 0, "", "")
}

// stored returns everything that the nodes keep.
func stored(t *testing.T, c *redisproc.Cluster) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for i, addr := range c.Addrs() {
		client := node(t, c, i)
		keys, err := client.Keys(t.Context(), "*").Result()
		if err != nil || len(keys) == 0 {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for _, key := range keys {
			if all[addr+" "+key], err = client.Dump(t.Context(), key).Result(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// The nodes do not know that a leader was asked to stop. They know the runs that it waits for.
func TestLeader_IsShownWhileItDrains(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	release := make(chan struct{})
	leader, stop := led(t, c, scheduler.Job{Name: "hangs", Spec: "@yearly", Run: func(context.Context, scheduler.Run) error {
		<-release
		return nil
	}})
	do("trigger", "hangs").want(t, 0, "is triggered", "")
	until(t, "it runs", func() bool { return do("jobs", "--only", "running").code == 0 })
	stopped := make(chan struct{})
	go func() { // ends when the run is released
		defer close(stopped)
		stop()
	}()
	until(t, "it drains", func() bool { return leader.State() == election.StateDraining })
	do("leader").want(t, 0, "pod-1", "")
	do("jobs", "--only", "running").want(t, 0, "running for", "")
	close(release)
	<-stopped
	do("leader").want(t, no, "", "no leader")
}
