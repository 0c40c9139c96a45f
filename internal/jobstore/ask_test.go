package jobstore_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestPause_IsSeenByWhoeverPrepares(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.writer("a"), c.writer("b")
		a.mustPrepare(job)
		_, err := b.Pause(t.Context(), job, jobstore.Origin{By: "b", From: "here"})
		want.Err(t, err, jobstore.ErrUnknown)
		a.mustWrite(10 * time.Second)
		time.Sleep(timeout)
		paused, err := b.Pause(t.Context(), job, jobstore.Origin{By: "b c", From: "here"})
		if err != nil || !paused.On || paused.By != "b c" {
			t.Fatalf("%+v, %v", paused, err)
		}
		resumed, err := a.Resume(t.Context(), job, jobstore.Origin{By: "a", From: "here"})
		if err != nil || !resumed.IsNewer(paused) {
			t.Errorf("after %+v came %+v, %v", paused, resumed, err)
		}
		triggered, err := b.Trigger(t.Context(), job, jobstore.Origin{By: "b", From: "here"})
		if err != nil {
			t.Error(err)
		}
		time.Sleep(timeout)
		basis, err := b.Decide(b.mustPrepare(job), 0)
		if err != nil || basis.Pause != resumed || basis.Trigger != triggered {
			t.Errorf("it knows %+v, %v", basis, err)
		}
	})
}

// One node has a setting of next year, and its clock is right, ahead or behind.
func TestPause_OneNodeThatIsWrong(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"its clock is right": 0, "its clock is ahead": 365 * 24 * time.Hour, "its clock is behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.stored()
				future := c.Start.Add(365 * 24 * time.Hour)
				wrong := jobstore.Setting{Version: future.UnixMicro(), Tie: "ffffff", On: true, Origin: jobstore.Origin{By: "nobody"}}
				c.Node(0).HSet("{redlock}:requests:x", "p:"+job, wrong.Text())
				c.Offset(0, ahead)
				if ahead == 0 {
					a.links.Cut(2) // so that the wrong node is asked
				}
				for _, set := range []func(ctx context.Context, job string, origin jobstore.Origin) (jobstore.Setting, error){a.Pause, a.Resume} {
					time.Sleep(time.Second)
					set, err := set(t.Context(), job, jobstore.Origin{By: "a", From: "here"})
					if err != nil || set.At().After(time.Now()) {
						t.Errorf("it is set at %v, %v", set.At(), err)
					}
					views, _, err := a.Views(t.Context(), job)
					if err != nil || len(views) != 1 || views[0].Pause != set {
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
			found, err := w.Poll(ctx, w.ballot, true, false, nil)
			if len(found.Serving) > 0 {
				t.Errorf("nodes %v serve the leader", found.Serving)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.stored()
				wrong := jobstore.Setting{Version: time.Now().UnixMicro(), Tie: "ffffff", On: true, Origin: jobstore.Origin{By: "nobody"}}
				c.Node(0).HSet("{redlock}:requests:x", "p:"+job, wrong.Text())
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
		manual := time.Now().Add(time.Second).Truncate(time.Microsecond)
		if _, err := a.writeState(jobstore.State{Mark: c.Start, Manual: manual}, false); err != nil {
			t.Fatal(err)
		}
		set, err := a.Trigger(t.Context(), job, jobstore.Origin{By: "a", From: "here"})
		if err != nil || !set.At().After(manual) {
			t.Errorf("the trigger is of %v, and those up to %v are settled: %v", set.At(), manual, err)
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
			p, err := a.Poll(t.Context(), a.ballot, false, false, nil)
			if err != nil || len(p.Asked) != asked || len(p.Unserved) != unserved || p.Fenced != nil || p.Unsure {
				t.Errorf("Poll returns %+v, %v", p, err)
			}
			return p
		}
		poll(0, 0)
		for n, name := range []string{"x", "y"} {
			set, err := b.Pause(t.Context(), name, jobstore.Origin{By: "b", From: "here"})
			time.Sleep(timeout)
			if p := poll(n+1, 0); err != nil || !reflect.DeepEqual(p.Asked[n], jobstore.Asked{Job: name, Pause: set}) {
				t.Errorf("%v, and Poll returns %+v", err, p)
			}
		}
		set, err := b.Trigger(t.Context(), "x", jobstore.Origin{By: "b", From: "here"})
		time.Sleep(timeout)
		if p := poll(2, 0); err != nil || p.Asked[0].Trigger != set {
			t.Errorf("%v, and Poll returns %+v", err, p)
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
		p, err := a.Poll(t.Context(), a.ballot, false, false, nil)
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
		set := jobstore.Setting{Version: time.Now().UnixMicro(), Tie: "00000a", On: true}
		c.Node(0).HSet("{redlock}:requests:x", "p:"+job, set.Text())
		p, err := a.Poll(t.Context(), a.ballot, true, false, nil)
		if err != nil || !p.Unsure || len(p.Vain) > 0 || len(p.Asked) > 0 {
			t.Errorf("at first: %+v, %v", p, err)
		}
		time.Sleep(11 * time.Second)
		p, err = a.Poll(t.Context(), a.ballot, true, false, nil)
		if err != nil || p.Unsure || len(p.Vain) != 1 || len(p.Asked) > 0 {
			t.Errorf("later: %+v, %v", p, err)
		}
		c.Node(0).HSet("{redlock}:requests:x", "t:"+job, set.Text()) // another one stays
		if _, err = a.Poll(t.Context(), a.ballot, true, false, p.Vain); err != nil {
			t.Error(err)
		}
		if fields, _ := c.Node(0).HKeys("{redlock}:requests:x"); len(fields) != 1 || fields[0] != "t:"+job {
			t.Errorf("the node has %q", fields)
		}
	})
}

// One of three nodes does not answer, or has lost its data: a request that one of the others has may be on a majority.
func TestPoll_WhatAMajorityMayHaveIsAsked(t *testing.T) {
	for name, harm := range map[string]func(c *cluster, w *writer){
		"does not answer": func(c *cluster, w *writer) { w.links.Cut(2) },
		"lost its data": func(c *cluster, w *writer) {
			c.Wipe(2)
			time.Sleep(jobstore.Ahead + time.Second)
			w.mustPrepare(job)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.stored()
				set := jobstore.Setting{Version: time.Now().UnixMicro(), Tie: "00000a", On: true}
				c.Node(0).HSet("{redlock}:requests:x", "p:"+job, set.Text())
				harm(c, a)
				p, err := a.Poll(t.Context(), a.ballot, false, false, nil)
				if err != nil || len(p.Asked) != 1 || p.Asked[0].Pause != set {
					t.Errorf("%+v, %v", p, err)
				}
			})
		})
	}
}

func TestAsk_IsRefusedIfTooManyWait(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.stored()
		for i := range 10_000 {
			c.Node(0).HSet("{redlock}:requests:x", fmt.Sprint("p:", i), "x")
		}
		_, err := a.Pause(t.Context(), job, jobstore.Origin{By: "b", From: "here"})
		want.Err(t, err, jobstore.ErrNoQuorum)
		want.Text(t, err, "10000 requests wait")
	})
}

func TestAsk_ARemovedJobIsRefused(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.stored()
		if _, err := a.writeState(jobstore.State{Mark: c.Start, Removed: true}, false); err != nil {
			t.Fatal(err)
		}
		_, err := a.Trigger(t.Context(), job, jobstore.Origin{By: "b", From: "here"})
		want.Err(t, err, jobstore.ErrRemoved)
	})
}
