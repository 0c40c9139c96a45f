package jobstore_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// The scripts detect whatever a server loses, or gets back from older data: the server does not vouch for it.
func TestPrepare_WhatAServerCanLose(t *testing.T) {
	const hash, jobs = "{redlock}", "{redlock}:jobs:x"
	for what, test := range map[string]struct {
		lose func(c *cluster, n *miniredis.Miniredis)
		want string
	}{
		"nothing":               {func(*cluster, *miniredis.Miniredis) {}, "present 50s"},
		"the hash of the locks": {func(_ *cluster, n *miniredis.Miniredis) { n.Del(hash) }, "stale 50s"},
		"the hash of the jobs":  {func(_ *cluster, n *miniredis.Miniredis) { n.Del(jobs) }, "none"},
		"all":                   {func(_ *cluster, n *miniredis.Miniredis) { n.FlushAll() }, "none"},
		"its process":           {func(c *cluster, _ *miniredis.Miniredis) { c.Restart(0) }, "stale 50s"},
		"the marker":            {func(_ *cluster, n *miniredis.Miniredis) { n.HDel(hash, "j:x") }, "stale 50s"},
		"the header":            {func(_ *cluster, n *miniredis.Miniredis) { n.HDel(jobs, "") }, "stale 50s"},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, c *cluster) {
				a := c.writer("a")
				a.mustPrepare(job)
				a.mustWrite(50 * time.Second)
				began := a.mustPrepare(job)[0].Began
				test.lose(c, c.Node(0))
				at := time.Now()
				_, _ = a.prepare(job) // starts a new incarnation
				time.Sleep(jobstore.Ahead + time.Second)
				p := a.mustPrepare(job)[0]
				wantKnown(t, c.known([]jobstore.Promise{p}), test.want)
				if test.want == "present 50s" {
					if !p.Began.Equal(began) {
						t.Errorf("the incarnation began at %v, and then at %v", began, p.Began)
					}
				} else if p.Began.Before(at) || p.Began.After(at.Add(time.Second)) {
					t.Errorf("it lost its state at %v, and the incarnation began at %v", at, p.Began)
				}
			})
		})
	}
}

// A server that owes and had nothing to lose says so until it has lost something.
func TestPrepare_WhatANewServerCanLose(t *testing.T) {
	const hash, jobs = "{redlock}", "{redlock}:jobs:x"
	for what, test := range map[string]struct {
		lose func(c *cluster, n *miniredis.Miniredis)
		want bool
	}{
		"nothing":              {func(*cluster, *miniredis.Miniredis) {}, true},
		"the hash of the jobs": {func(_ *cluster, n *miniredis.Miniredis) { n.Del(jobs) }, false},
		"the marker":           {func(_ *cluster, n *miniredis.Miniredis) { n.HDel(hash, "j:x") }, false},
		"its process":          {func(c *cluster, _ *miniredis.Miniredis) { c.Restart(0) }, false},
		"the debt": {func(_ *cluster, n *miniredis.Miniredis) {
			n.HSet(hash, "o", "\nj:x\t0000000000000\nnew 0946684800000000\n")
		}, false},
		"that it is new": {func(_ *cluster, n *miniredis.Miniredis) { n.HSet(hash, "o", "\nj:x\t0946684800000\n") }, false},
	} {
		t.Run(what, func(t *testing.T) {
			bubble.RunFresh(t, 1, func(t *testing.T, nodes *bubble.Cluster) {
				c := &cluster{nodes}
				n := c.Node(0)
				a := c.writer("a")
				_, _ = a.prepare(job) // starts the guard
				n.HSet(hash, "o", "\nj:x\t0946684800000\nnew "+n.HGet(hash, "g")[43:59]+"\n")
				time.Sleep(time.Minute)
				if p := a.mustPrepare(job)[0]; !p.New {
					t.Fatalf("it is not new: %+v", p)
				}
				a.mustWrite(50 * time.Second)
				test.lose(c, n)
				for range 3 { // the first one starts a new incarnation
					promises, err := a.prepare(job)
					if err == nil && promises[0].New != test.want {
						t.Errorf("new is %t", promises[0].New)
					}
					time.Sleep(longest)
				}
			})
		})
	}
}
