package jobstore_test

import (
	"context"
	"errors"
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

// Between its two requests, somebody else makes a setting.
func TestPause_IsNewerThanOneThatWasMadeMeanwhile(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.stored(), c.writer("b")
		const delay = timeout / 10
		a.links.Delay(delay)
		if _, _, err := a.Views(t.Context(), job); err != nil { // so that it is connected
			t.Fatal(err)
		}
		var other jobstore.Setting
		var err error
		meanwhile := time.AfterFunc(5*delay/2, func() {
			other, err = b.Pause(t.Context(), job, jobstore.Origin{By: "b", From: "here"})
		})
		defer meanwhile.Stop()
		resumed, late := a.Resume(t.Context(), job, jobstore.Origin{By: "a", From: "here"})
		if err != nil || late != nil || !other.On || !resumed.IsNewer(other) {
			t.Errorf("after %+v (%v) came %+v, %v", other, err, resumed, late)
		}
		if views, _, err := b.Views(t.Context(), job); err != nil || views[0].Pause != resumed {
			t.Errorf("it is %+v, %v", views, err)
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
				c.Node(0).HSet("{redlock}:settings:x", "p:"+job, wrong.Text())
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

// What ends early has heard of a pause that one node has by itself, and not that the others do not have it.
func TestAsk_WhatIsCutShortHasNoResult(t *testing.T) {
	for name, read := range map[string]func(context.Context, *writer) error{
		"views": func(ctx context.Context, w *writer) error {
			_, err := w.ViewsOfAll(ctx, job)
			return err
		},
		"prepare": func(ctx context.Context, w *writer) error {
			_, err := w.Prepare(ctx, w.ballot, jobstore.Leader{Token: 7, Replica: w.name}, []string{job})
			return err
		},
		"poll": func(ctx context.Context, w *writer) error { // the third node would count as one that does not serve the leader
			found, err := w.Poll(ctx, w.ballot, true, nil)
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
				c.Node(0).HSet("{redlock}:settings:x", "p:"+job, wrong.Text())
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

func TestPoll_ReturnsWhatWasSetAndWhoLostIt(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.writer("a"), c.writer("b")
		a.mustPrepare("x", "y")
		a.writeNamed("x", "y")
		time.Sleep(timeout)
		poll := func(latest map[int]int64, changed, unserved int) map[int]int64 {
			t.Helper()
			p, err := a.Poll(t.Context(), a.ballot, false, latest)
			if err != nil || len(p.Changed) != changed || len(p.Unserved) != unserved || p.Fenced != nil {
				t.Errorf("Poll returns %+v, %v", p, err)
			}
			return p.Latest
		}
		latest := poll(nil, 0, 0)
		for _, name := range []string{"x", "y"} {
			if _, err := b.Pause(t.Context(), name, jobstore.Origin{By: "b", From: "here"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(timeout)
		}
		poll(nil, 2, 0)
		latest = poll(latest, 2, 0)
		latest = poll(latest, 0, 0)
		if _, err := b.Trigger(t.Context(), "x", jobstore.Origin{By: "b", From: "here"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(timeout)
		latest = poll(latest, 1, 0)
		c.Wipe(2)
		latest = poll(latest, 0, 1)
		if _, known := latest[2]; known {
			t.Error("a change that a node returned before it lost its state counts as known")
		}
		header, err := b.Header(t.Context(), "x")
		if err != nil || time.Since(header.Alive) > time.Second {
			t.Errorf("the leader was alive at %v, and it is %v: %v", header.Alive, time.Now(), err)
		}
		time.Sleep(jobstore.Ahead + time.Second)
		b.mustPrepare()
		time.Sleep(timeout)
		p, err := a.Poll(t.Context(), a.ballot, false, nil)
		want.Err(t, err, jobstore.ErrNoQuorum)
		if p.Fenced == nil || p.Fenced.Header.Promised != b.ballot {
			t.Errorf("after another ballot was promised, Poll returns %+v", p)
		}
	})
}

// Somebody has forged the number of a change. The leader still learns of later changes.
func TestPoll_ReturnsChangesAfterOneOfTheFarFuture(t *testing.T) {
	for _, number := range []float64{1 << 53, 1e308} {
		inBubble(t, 1, func(t *testing.T, c *cluster) {
			a := c.writer("a")
			a.mustPrepare("x", "y")
			a.writeNamed("x", "y")
			if _, err := c.Node(0).ZAdd("{redlock}:changes:x", number, "y"); err != nil {
				t.Fatal(err)
			}
			p, err := a.Poll(t.Context(), a.ballot, false, nil)
			if err != nil || len(p.Changed) > 0 {
				t.Errorf("%+v, %v", p, err)
			}
			if _, err := a.Pause(t.Context(), "x", jobstore.Origin{By: "b", From: "here"}); err != nil {
				t.Fatal(err)
			}
			if p, err := a.Poll(t.Context(), a.ballot, false, p.Latest); err != nil || !p.Changed["x"] || len(p.Changed) > 1 {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}
