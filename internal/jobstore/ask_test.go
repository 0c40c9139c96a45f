package jobstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// held returns the requests that a majority may have for jobs that were written under a ballot.
func held(p jobstore.Polled, written jobstore.Ballot) (all []jobstore.Task) {
	for _, a := range p.Asked {
		if r, _, ok := a.Held(written); ok {
			all = append(all, jobstore.Task{Job: a.Job, Request: r})
		}
	}
	return all
}

var (
	pause   = jobstore.Request{Verb: jobstore.ToPause, Setting: jobstore.Setting{On: true, Origin: jobstore.Origin{By: "b c", From: "here"}}}
	resume  = jobstore.Request{Verb: jobstore.ToPause}
	trigger = jobstore.Request{Verb: jobstore.ToTrigger}
	cancel  = jobstore.Request{Verb: jobstore.ToCancel}
	rerun   = jobstore.Request{Verb: jobstore.ToRerun, Tick: time.UnixMilli(1_700_000_000_000).UTC()}
)

func TestAsk_LeavesARequestThatTheLeaderIsTold(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.writer("a"), c.writer("b")
		a.mustPrepare(job)
		_, err := b.Ask(t.Context(), job, pause, nil)
		want.Err(t, err, jobstore.ErrUnknown)
		a.mustWrite(10 * time.Second)
		time.Sleep(timeout)
		var last jobstore.Request
		for _, r := range []jobstore.Request{pause, resume, trigger, cancel, rerun} {
			asked, err := b.Ask(t.Context(), job, r, nil)
			r.Mark, r.Since = asked.Mark, asked.Since
			if r.Verb == jobstore.ToPause && !r.On && !asked.Since.Equal(last.At().Truncate(time.Millisecond)) {
				t.Errorf("it ends the pause of %v, that of %v is the last one", asked.Since, last.At())
			}
			if err != nil || asked != r || asked.Verb == last.Verb && !asked.IsNewer(last.Mark) {
				t.Errorf("after %+v came %+v, %v", last, asked, err)
			}
			last = asked
			time.Sleep(timeout)
			p, err := a.Poll(t.Context(), a.ballot, jobstore.Writing, false, nil, nil)
			if err != nil || !slices.Contains(held(p, a.ballot), jobstore.Task{Job: job, Request: asked}) {
				t.Errorf("of %+v Poll returns %+v, %v", asked, p, err)
			}
		}
		past, err := b.Past(t.Context(), job)
		if err != nil || len(past) != 5 || past[0] != last || past[4].By != "b c" {
			t.Errorf("the requests were %+v, %v", past, err)
		}
	})
}

func TestAsk_IsRefused(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.stored()
		refusal := errors.New("it may not")
		_, err := a.Ask(t.Context(), job, cancel, func(v *jobstore.View, now time.Time) error {
			if v.Job != job || now.IsZero() {
				t.Errorf("%+v at %v", v, now)
			}
			return refusal
		})
		want.Err(t, err, refusal)
		if p, err := a.Poll(t.Context(), a.ballot, jobstore.Writing, false, nil, nil); err != nil || len(p.Asked) > 0 {
			t.Errorf("%+v, %v", p, err)
		}
		for i := range 10_000 {
			c.Node(0).HSet("{redlock}:requests:x", fmt.Sprint("p:", i), "x")
		}
		_, err = a.Ask(t.Context(), job, pause, nil)
		want.Err(t, err, jobstore.ErrNoQuorum)
		want.Text(t, err, "10000 requests wait")
		if _, err := a.writeState(jobstore.State{Mark: c.Start, Removed: true}, false); err != nil {
			t.Fatal(err)
		}
		_, err = a.Ask(t.Context(), job, trigger, nil)
		want.Err(t, err, jobstore.ErrRemoved)
	})
}

// One node has a setting of next year, and its clock is right, ahead or behind.
func TestPause_OneNodeThatIsWrong(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"its clock is right": 0, "its clock is ahead": 365 * 24 * time.Hour, "its clock is behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.stored()
				future := c.Start.Add(365 * 24 * time.Hour)
				wrong := settingAt(future, "ffffff")
				c.Node(0).HSet("{redlock}:requests:x", "p:"+job, wrong.Text())
				c.Offset(0, ahead)
				if ahead == 0 {
					a.links.Cut(2) // so that the wrong node is asked
				}
				for _, r := range []jobstore.Request{pause, resume} {
					time.Sleep(time.Second)
					set, err := a.Ask(t.Context(), job, r, nil)
					if err != nil || set.At().After(time.Now()) {
						t.Errorf("it is set at %v, %v", set.At(), err)
					}
					views, _, err := a.Views(t.Context(), job)
					if err != nil || len(views) != 1 || views[0].Pause != set.Setting {
						t.Errorf("it is %+v, and not %+v: %v", views, set, err)
					}
				}
			})
		})
	}
}

func TestAsk_WhatIsCutShortHasNoResult(t *testing.T) {
	for name, read := range map[string]func(context.Context, *writer) error{
		"prepare": func(ctx context.Context, w *writer) error {
			_, err := w.Prepare(ctx, w.ballot, jobstore.Leader{Token: 7, Replica: w.name}, []string{job})
			return err
		},
		"poll": func(ctx context.Context, w *writer) error { // the third node would count as one that does not serve the leader
			found, err := w.Poll(ctx, w.ballot, jobstore.Settled, false, nil, nil)
			if len(found.Serving) > 0 {
				t.Errorf("nodes %v serve the leader", found.Serving)
			}
			return err
		},
		"views": func(ctx context.Context, w *writer) error { // the first node would show a pause that no other node has
			_, _, err := w.Views(ctx, job)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.stored()
				wrong := settingAt(time.Now(), "ffffff")
				c.Node(0).HSet("{redlock}:requests:x", "p:"+job, wrong.Text())
				c.Node(0).HDel("{redlock}:jobs:x", job) // so two answers do not decide
				a.links.Delay(timeout/2, 2)
				ctx, cancel := context.WithTimeout(t.Context(), timeout/4)
				defer cancel()
				if err := read(ctx, a); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

func TestTrigger_IsAboveTheRunsByHandBefore(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.writer("a")
		a.mustPrepare(job)
		manual := settingAt(time.Now().Add(time.Second), "00000a").Mark
		if _, err := a.writeState(jobstore.State{Mark: c.Start, Manual: manual}, false); err != nil {
			t.Fatal(err)
		}
		asked, err := a.Ask(t.Context(), job, trigger, nil)
		if err != nil || asked.Version <= manual.Version {
			t.Errorf("the trigger is %+v, and those up to %+v are settled: %v", asked, manual, err)
		}
	})
}

func TestPoll_ReturnsWhatIsAskedAndWhoLostIt(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.writer("a"), c.writer("b")
		a.mustPrepare("x", "y")
		a.writeNamed("x", "y")
		time.Sleep(timeout)
		poll := func(asked, unserved int) jobstore.Polled {
			t.Helper()
			p, err := a.Poll(t.Context(), a.ballot, jobstore.Writing, false, nil, nil)
			if err != nil || len(p.Asked) != asked || len(p.Unserved) != unserved || p.Fenced != nil {
				t.Errorf("Poll returns %+v, %v", p, err)
			}
			return p
		}
		poll(0, 0)
		for n, name := range []string{"x", "y"} {
			asked, err := b.Ask(t.Context(), name, pause, nil)
			time.Sleep(timeout)
			if p := poll(n+1, 0); err != nil || held(p, a.ballot)[n] != (jobstore.Task{Job: name, Request: asked}) {
				t.Errorf("%v, and Poll returns %+v", err, p)
			}
		}
		c.Wipe(2)
		poll(2, 1)
		header, err := b.Header(t.Context(), "x")
		if err != nil || time.Since(header.Alive) > time.Second {
			t.Errorf("the leader was alive at %v, and it is %v: %v", header.Alive, time.Now(), err)
		}
		time.Sleep(jobstore.Ahead + time.Second)
		b.mustPrepare()
		time.Sleep(timeout)
		p, err := a.Poll(t.Context(), a.ballot, jobstore.Writing, false, nil, nil)
		want.Err(t, err, jobstore.ErrNoQuorum)
		if p.Fenced == nil || p.Fenced.Header.Promised != b.ballot {
			t.Errorf("after another ballot was promised, Poll returns %+v", p)
		}
	})
}

// A request that too few nodes have may be on its way to the others. Later it is in vain, and the node forgets it.
func TestPoll_ARequestInVainIsForgotten(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.stored()
		set := settingAt(time.Now(), "00000a")
		c.Node(0).HSet("{redlock}:requests:x", "p:"+job, set.Text())
		poll := func(forget ...jobstore.Task) ([]jobstore.Request, bool) {
			p, err := a.Poll(t.Context(), a.ballot, jobstore.Settled, false, forget, nil)
			if err != nil || len(p.Asked) > 1 || len(held(p, a.ballot)) > 0 {
				t.Fatalf("%+v, %v", p, err)
			}
			if len(p.Asked) == 0 {
				return nil, false
			}
			return p.Asked[0].Vain(jobstore.Mark{})
		}
		if vain, isUnsure := poll(); len(vain) > 0 || !isUnsure {
			t.Errorf("at first: %+v, %v", vain, isUnsure)
		}
		time.Sleep(11 * time.Second)
		vain, isUnsure := poll()
		if len(vain) != 1 || isUnsure {
			t.Fatalf("later: %+v, %v", vain, isUnsure)
		}
		c.Node(0).HSet("{redlock}:requests:x", "t:"+job, settingAt(c.Start, "00000b").Text()) // another one stays
		poll(jobstore.Task{Job: job, Request: vain[0]})
		if fields, _ := c.Node(0).HKeys("{redlock}:requests:x"); len(fields) != 1 || fields[0] != "t:"+job {
			t.Errorf("the node has %q", fields)
		}
	})
}

// A node that has lost a request gets it back. A newer one stays, and so does one with another ID than the one to forget.
func TestPoll_KeepsAndForgets(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.stored()
		set, newer := settingAt(c.Start, "00000a"), settingAt(c.Start.Add(time.Second), "00000b")
		c.Node(0).HSet("{redlock}:requests:x", "p:"+job, set.Text())
		c.Node(1).HSet("{redlock}:requests:x", "p:"+job, newer.Text())
		p, err := a.Poll(t.Context(), a.ballot, jobstore.Settled, false, nil, nil)
		r, isLacking, ok := p.Asked[0].Held(a.ballot)
		if err != nil || !ok || !isLacking || r.Setting != set {
			t.Fatalf("%+v, %v, %v, %v", r, isLacking, ok, err)
		}
		task := []jobstore.Task{{Job: job, Request: r}}
		p, err = a.Poll(t.Context(), a.ballot, jobstore.Settled, false, nil, task)
		if r, isLacking, ok := p.Asked[0].Held(a.ballot); err != nil || !ok || isLacking || r.Setting != set {
			t.Errorf("%+v, %v, %v, %v", r, isLacking, ok, err)
		}
		if _, err = a.Poll(t.Context(), a.ballot, jobstore.Settled, false, task, nil); err != nil {
			t.Error(err)
		}
		for i, want := range []string{"", newer.Text(), ""} {
			if got := c.Node(i).HGet("{redlock}:requests:x", "p:"+job); got != want {
				t.Errorf("node %d has %q", i, got)
			}
		}
	})
}

// The nodes' clocks were set back: a majority has the request from the future, or may have it because a node does not answer. One node
// alone may have made it up. No replica makes one of the far future.
func TestPoll_ARequestFromTheFuture(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.stored()
		check := func(what string, ahead time.Duration, nodes, want int) {
			t.Helper()
			for i := range nodes {
				c.Node(i).HSet("{redlock}:requests:x", "p:"+job, settingAt(time.Now().Add(ahead), "00000a").Text())
			}
			p, err := a.Poll(t.Context(), a.ballot, jobstore.Settled, false, nil, nil)
			if err != nil || len(held(p, a.ballot)) != want {
				t.Errorf("%s: %+v, %v", what, p, err)
			}
		}
		for _, ahead := range []time.Duration{time.Hour, 9 * year} {
			check("on one node", ahead, 1, 0)
			check("on two nodes", ahead, 2, 1)
			check("on all nodes", ahead, 3, 1)
			for i := range 3 {
				c.Node(i).Del("{redlock}:requests:x")
			}
		}
		check("of the far future", 11*year, 3, 0)
		a.links.Cut(2)
		check("of the far future, on all that answer", 11*year, 3, 0)
		check("on one of two that answer", time.Hour, 1, 1)
	})
}

const year = 365 * 24 * time.Hour

// settingAt returns a pause that was made at an instant.
func settingAt(at time.Time, id string) jobstore.Setting {
	return jobstore.Setting{Mark: jobstore.Mark{Version: at.UnixMicro(), ID: id}, On: true, Origin: jobstore.Origin{By: "nobody"}}
}

// One of three nodes does not answer, or has lost its data: a request that one of the others has may be on a majority.
func TestPoll_WhatAMajorityMayHaveIsAsked(t *testing.T) {
	for name, harm := range map[string]func(c *cluster, w *writer){
		"does not answer": func(c *cluster, w *writer) { w.links.Cut(2) },
		"lost its data": func(c *cluster, w *writer) {
			c.Wipe(2)
			for range 2 { // the first one starts the node's incarnation, and the node serves the second one
				time.Sleep(jobstore.Ahead + time.Second)
				w.mustPrepare(job)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.stored()
				set := settingAt(time.Now(), "00000a")
				c.Node(0).HSet("{redlock}:requests:x", "p:"+job, set.Text())
				harm(c, a)
				p, err := a.Poll(t.Context(), a.ballot, jobstore.Writing, false, nil, nil)
				before := jobstore.NewBallot(0, c.Start)
				if all := held(p, before); err != nil || len(all) != 1 || all[0].Setting != set {
					t.Errorf("%+v, %v", all, err)
				}
				after := jobstore.NewBallot(0, set.At().Add(11*time.Second)) // its leader had asked a majority for the request
				if all := held(p, after); err != nil || (len(all) == 1) != (name == "does not answer") {
					t.Errorf("%+v, %v", all, err)
				}
			})
		})
	}
}
