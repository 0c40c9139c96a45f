package jobstore_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/redlockfx/redlockfx/internal/jobstore"
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
