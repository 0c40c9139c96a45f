package register_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/register"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// What a node was told is no vote of its own, and what it has voted for in vain is not under way.

// begun is a leader, and a tick that is due.
func (c *cluster) begun() (a *leader, tick time.Time) {
	c.T.Helper()
	a = c.leader(1)
	a.mustPromise()
	time.Sleep(10 * time.Second)
	return a, time.Now().Truncate(time.Second)
}

// minority has a leader's claim reach one node alone.
func (l *leader) minority(tick time.Time, run string, node int) {
	l.c.T.Helper()
	for other := range l.c.N {
		if other != node {
			l.links.Cut(other)
		}
	}
	if o := l.claim(tick, run, 1); o.Won || o.Taken {
		l.c.T.Fatalf("%+v", o)
	}
	time.Sleep(timeout) // or what is sent again over another connection may be there after all
	l.links.Heal()
	time.Sleep(1100 * time.Millisecond) // go-redis dials again after a second
}

// fields are what node has of the job's records in its first hash.
func (c *cluster) fields(node int) (records []string) {
	c.T.Helper()
	all, err := c.Node(node).HKeys("{redlock}:job:x:" + job)
	if err != nil {
		c.T.Fatal(err)
	}
	for _, f := range all {
		if strings.HasPrefix(f, "o:") || strings.HasPrefix(f, "x:") {
			records = append(records, f)
		}
	}
	return records
}

func TestClaim_OfARunThatIsLostIsNoVoteAskedAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, tick := c.begun()
		a.minority(tick, "a", 0)
		b := c.leader(2)
		b.mustPromise()
		lost := a.record(tick, "a", 1)
		lost.State = register.Lost
		if err := b.finish(lost, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(timeout) // all nodes have heard of it
		a.token = 3
		a.mustPromise()
		if o := a.claim(tick, "a", 1); o.Won {
			t.Errorf("a run of which it was told that it is lost: %+v", o)
		}
	})
}

func TestAdmit_WhatANodeIsToldIsNoVoteAskedAgain(t *testing.T) {
	for name, forget := range map[string][]int{"one forgets": {2}, "a quorum forgets": {0, 2}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, tick := c.begun()
				a.minority(tick, "a", 0)
				for _, node := range forget {
					c.Restart(node)
				}
				time.Sleep(longest + 2*time.Second)
				a.token = 2
				a.mustPromise()
				time.Sleep(timeout) // all nodes are admitted
				a.links.Cut(1)
				if o := a.claim(tick, "a", 1); o.Won {
					t.Errorf("with the vote of one node: %+v", o)
				}
			})
		})
	}
}

// The usual crash: one node is asked before the others.
func TestFinish_EndsTheVoteForARunThatHasLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, tick := c.begun()
		b := c.leader(2)
		a.minority(tick, "a", 0)
		b.mustPromise()
		b.wins(tick, "b")
		time.Sleep(timeout)
		s := c.leader(3).mustPromise()
		if len(s.Open) != 1 || s.Open[0].Run != "b" {
			t.Errorf("under way: %+v, want that of b", s.Open)
		}
		b.ends(tick, "b")
		if s := c.leader(4).mustPromise(); len(s.Open) > 0 {
			t.Errorf("without an end: %+v", s.Open)
		}
	})
}

// All nodes restart, one after the other, while a run is under way: whoever leads next hears of it, and its end can
// still be written.
func TestAdmit_TellsOfARunUnderWay(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, tick := c.begun()
		a.wins(tick, "a")
		time.Sleep(timeout)
		for node := range 3 {
			c.Restart(node)
			time.Sleep(2*longest + 2*time.Second)
			a.mustPromise()
			time.Sleep(timeout)
		}
		b := c.leader(2)
		if s := b.mustPromise(); len(s.Open) != 1 || s.Open[0].Run != "a" {
			t.Errorf("under way: %+v, want that of a", s.Open)
		}
		if o := b.claim(tick, "b", 2); o.Won {
			t.Error("it was taken over by nodes that cannot know whether somebody else has")
		}
		a.ends(tick, "a")
		if s := c.leader(3).mustPromise(); len(s.Open) > 0 {
			t.Errorf("without an end: %+v", s.Open)
		}
		for node := range 3 {
			if f := c.fields(node); len(f) > 0 {
				t.Errorf("node %d still has %q", node, f)
			}
		}
	})
}

// What is claimed in order not to be run has its end with that, also where it was asked for otherwise before.
func TestClaim_OfATickThatIsNotRunHasAnEnd(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, tick := c.begun()
		a.minority(tick, "a", 0)
		record := a.record(tick, "a", 1)
		record.State = register.Missed
		if o := a.Claim(t.Context(), 1, a.memories, []register.Claim{{Job: job, Record: record}})[0]; !o.Won {
			t.Fatalf("%+v", o)
		}
		time.Sleep(timeout)
		for node := range 3 {
			if f := c.fields(node); len(f) > 0 {
				t.Errorf("node %d still has %q", node, f)
			}
		}
		if s := c.leader(2).mustPromise(); len(s.Open) > 0 {
			t.Errorf("without an end: %+v", s.Open)
		}
	})
}

// Node 2 has not heard of the end of a run, and another one that has is admitted again: it knows better than that the
// run is under way.
func TestAdmit_TellsNotOfARunThatHasEnded(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, tick := c.begun()
		a.wins(tick, "a")
		time.Sleep(timeout)
		a.links.Cut(2)
		a.ends(tick, "a")
		a.links.Heal()
		c.Restart(0)
		time.Sleep(longest + 2*time.Second)
		b := c.leader(2)
		b.mustPromise()
		time.Sleep(timeout)
		if f := c.fields(0); len(f) > 0 {
			t.Errorf("node 0 has %q", f)
		}
		b.links.Cut(1)
		v, err := b.Read(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Records) != 1 || v.Records[0].State != register.OK {
			t.Errorf("records %+v", v.Records)
		}
	})
}

// Two addresses that lead to one server have one vote: two of three would otherwise be a majority of their own.
func TestPromise_OneServerHasOneVote(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		for _, node := range []int{0, 2} {
			c.SetInfo(node, "master_replid", "4444444444444444444444444444444444444444")
		}
		a := c.leader(1)
		a.mustPromise()
		a.links.Cut(1)
		synctest.Wait()
		_, err := a.promise()
		want.Err(t, err, register.ErrNoQuorum)
		want.Text(t, err, "1 of 3 nodes, 2 needed", "it is the same server as 127.0.0.1:7001")
	})
}

// The node that cannot vote says so first, and the one whose vote tells why the tick cannot be won answers last.
func TestClaim_ThatCannotBeWonSaysUpToWhere(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, tick := c.begun()
		a.minority(tick.Add(time.Second), "a", 1)
		b := c.leader(2)
		b.mustPromise()
		c.SetPreHook(0, func(p *server.Peer, _ string, _ ...string) bool {
			p.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
			return true
		})
		b.links.Delay(10*time.Millisecond, 2)
		o := b.claim(tick, "late", 1)
		if o.Won || o.Taken || !o.Past.Equal(tick.Add(time.Second)) {
			t.Errorf("%+v", o)
		}
	})
}
