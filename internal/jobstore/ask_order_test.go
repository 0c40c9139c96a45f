package jobstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// A request has a newer mark than all earlier ones that a majority had, whatever the nodes' clocks show: those that wait, and those that
// are applied, also in a state that cannot be used until the leader has written it again.
func TestAsk_IsAboveEarlierOnesAfterASetBack(t *testing.T) {
	for name, again := range map[string]jobstore.Request{"pause": pause, "resume": resume, "trigger": trigger, "cancel": cancel} {
		for _, back := range []time.Duration{time.Minute, time.Hour, 9 * year} {
			for _, isApplied := range []bool{false, true} {
				t.Run(name+" "+back.String()+map[bool]string{true: " applied", false: " waiting"}[isApplied], func(t *testing.T) {
					inBubble(t, 3, func(t *testing.T, c *cluster) {
						a := c.stored()
						for i := range 3 {
							c.Offset(i, back)
						}
						a.links.Cut(2)
						earlier, err := a.Ask(t.Context(), job, again, nil)
						want.NoError(t, err)
						if isApplied {
							state := jobstore.State{Mark: c.Start, Manual: earlier.Mark, Canceled: earlier.Mark, Pause: earlier.Setting}
							if _, err := a.writeState(state, false); err != nil {
								t.Fatal(err)
							}
							_, err = a.Poll(t.Context(), a.ballot, jobstore.Settled, false, []jobstore.Task{{Job: job, Request: earlier}}, nil)
							want.NoError(t, err)
						}
						for i := range 3 {
							c.Offset(i, 0)
						}
						b := c.writer("b")
						b.links.Cut(0)
						asked, err := b.Ask(t.Context(), job, again, nil)
						if err != nil || !asked.IsNewer(earlier.Mark) || asked.At().After(time.Now()) {
							t.Errorf("after %+v came %+v, made at %v: %v", earlier.Mark, asked.Mark, asked.At(), err)
						}
					})
				})
			}
		}
	}
}

// A request that too few nodes have has failed. It does not come after a later one, although the clocks were set back and a node that
// has the later one is down: whoever made that has asked all nodes.
func TestAsk_IsAboveFailedOnesAfterASetBack(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.stored()
		for i := range 3 {
			c.Offset(i, time.Hour)
		}
		failing := c.writer("failing")
		failed, err := failing.Ask(t.Context(), job, pause, func(*jobstore.View, time.Time) error {
			failing.links.Cut(0, 2)
			return nil
		})
		want.Err(t, err, jobstore.ErrNoQuorum)
		for i := range 3 {
			c.Offset(i, 0)
		}
		b := c.writer("b")
		b.links.Delay(20*time.Millisecond, 1) // the others alone would be enough
		later, err := b.Ask(t.Context(), job, resume, nil)
		want.NoError(t, err)
		a.links.Cut(0)
		polled, err := a.Poll(t.Context(), a.ballot, jobstore.Settled, false, nil, nil)
		want.NoError(t, err)
		for _, asked := range polled.Asked {
			if held, _, ok := asked.Held(a.ballot); !ok || held.Mark != later.Mark {
				t.Errorf("it obeys %+v, want %+v, made after %+v", held.Mark, later.Mark, failed.Mark)
			}
		}
	})
}

// A request that has failed does not come after a later one of its process either, if the nodes carry it out later. The clocks of nodes
// differ, and which of them answer first differs from call to call.
func TestAsk_IsAboveFailedOnesThatArriveLater(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.stored(), c.writer("b")
		_, err := b.Ask(t.Context(), job, trigger, nil) // loads the scripts
		want.NoError(t, err)
		time.Sleep(timeout)
		late := make(chan struct{})
		for i := range 3 {
			c.SetPreHook(i, func(_ *server.Peer, _ string, args ...string) bool {
				if slices.Contains(args, "10000") { // that it keeps: it is a request
					<-late // on this connection alone
				}
				return false
			})
		}
		c.Offset(0, 900*time.Millisecond)
		c.Offset(1, 900*time.Millisecond)
		failed, err := b.Ask(t.Context(), job, pause, nil)
		want.Err(t, err, jobstore.ErrNoQuorum)
		for i := range 3 {
			c.SetPreHook(i, nil)
		}
		b.links.Cut(1)
		later, err := b.Ask(t.Context(), job, resume, nil)
		want.NoError(t, err)
		close(late)
		synctest.Wait()
		polled, err := a.Poll(t.Context(), a.ballot, jobstore.Settled, false, nil, nil)
		want.NoError(t, err)
		var obeyed []jobstore.Mark
		for _, asked := range polled.Asked {
			if held, _, _ := asked.Held(a.ballot); held.Verb != jobstore.ToTrigger {
				obeyed = append(obeyed, held.Mark)
			}
		}
		if !slices.Equal(obeyed, []jobstore.Mark{later.Mark}) {
			t.Errorf("it obeys %+v, want %+v, made after %+v", obeyed, later.Mark, failed.Mark)
		}
	})
}

// A process that made a request while the clocks were so far ahead that nobody believes it any more goes on.
func TestAsk_IsBelievedAfterClocksThatWereFarAhead(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.stored(), c.writer("b")
		for _, ahead := range []time.Duration{11 * year, 0} {
			for i := range 3 {
				c.Offset(i, ahead)
			}
			asked, err := b.Ask(t.Context(), job, pause, nil)
			want.NoError(t, err)
			if ahead == 0 && asked.At().After(time.Now()) {
				t.Errorf("made at %v", asked.At())
			}
		}
		polled, err := a.Poll(t.Context(), a.ballot, jobstore.Settled, false, nil, nil)
		want.NoError(t, err)
		if len(polled.Asked) != 1 {
			t.Fatalf("asked: %+v", polled.Asked)
		}
		if _, _, ok := polled.Asked[0].Held(a.ballot); !ok {
			t.Error("nobody believes the request")
		}
	})
}

// What people read about all jobs has no name that nobody gave.
func TestAsk_ErrorsNameAllJobs(t *testing.T) {
	write := func(s jobstore.State) func(*cluster, *writer) {
		return func(c *cluster, a *writer) {
			if errs, _ := a.writeAll(&jobstore.Write{Job: jobstore.AllJobs, State: &s}); errs[0] != nil {
				c.T.Fatal(errs[0])
			}
		}
	}
	for name, test := range map[string]struct {
		harm func(c *cluster, a *writer)
		want error
	}{
		"unknown":             {func(*cluster, *writer) {}, jobstore.ErrUnknown},
		"removed":             {write(jobstore.State{Removed: true}), jobstore.ErrRemoved},
		"ahead":               {write(jobstore.State{Since: time.Now().AddDate(100, 0, 0)}), jobstore.ErrAhead},
		"no node answers":     {func(_ *cluster, a *writer) { a.links.Cut() }, jobstore.ErrNoQuorum},
		"the clocks disagree": {func(c *cluster, _ *writer) { c.Offset(0, time.Hour); c.Offset(1, -time.Hour) }, jobstore.ErrClock},
		"it is garbage": {func(c *cluster, _ *writer) {
			for i := range 3 {
				c.Node(i).HSet("{redlock}:jobs:x", jobstore.AllJobs, "x")
			}
		}, nil},
		"no node keeps it": {func(c *cluster, a *writer) {
			write(jobstore.State{})(c, a)
			for i := range 3 {
				want.NoError(c.T, c.Node(i).Set("{redlock}:requests:x", "x"))
			}
		}, jobstore.ErrNoQuorum},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.writer("a")
				a.mustPrepare()
				test.harm(c, a)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := a.Ask(ctx, jobstore.AllJobs, pause, nil)
				if test.want != nil {
					want.Err(t, err, test.want)
				}
				if err == nil || strings.Contains(err.Error(), jobstore.AllJobs) || strings.Contains(err.Error(), `\x01`) {
					t.Errorf("the error is %q", err)
				}
			})
		})
	}
}

// A leader of a later ballot polls after a request was made, and before it reaches the nodes. Then one of them loses its data.
func TestAsk_WhatIsAcknowledgedAfterALaterBallotStays(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.stored(), c.writer("b")
		if _, _, err := b.Views(t.Context(), job); err != nil { // connects it
			t.Fatal(err)
		}
		synctest.Wait() // also with the slowest node
		b.links.Cut(1)
		b.links.Delay(timeout/8, 2)
		var asked jobstore.Request
		done := make(chan error)
		go func() { // ends by the node timeout
			var err error
			asked, err = b.Ask(t.Context(), job, pause, nil)
			done <- err
		}()
		time.Sleep(timeout / 8)
		a.mustPrepare(job)
		if p, err := a.Poll(t.Context(), a.ballot, jobstore.Writing, false, nil, nil); err != nil || len(p.Asked) > 0 {
			t.Errorf("%+v, %v", p, err)
		}
		a.mustWrite(10 * time.Second)
		written := a.ballot
		if err := <-done; err != nil || !written.Time().After(asked.At()) {
			t.Fatalf("it was made at %v, and the ballot taken at %v: %v", asked.At(), written.Time(), err)
		}
		c.Wipe(0)
		for range 2 { // the first one starts the node's incarnation, and the node serves the second one
			time.Sleep(jobstore.Ahead + time.Second)
			a.mustPrepare(job)
		}
		p, err := a.Poll(t.Context(), a.ballot, jobstore.Writing, false, nil, nil)
		if all := held(p, written); err != nil || len(all) != 1 || all[0].Request != asked {
			t.Errorf("of %+v Poll returns %+v, %v", asked, all, err)
		}
	})
}

// A request that took long is not acknowledged: a leader of a later ballot may have polled before, and not look for it again.
func TestAsk_WhatTakesLongIsNotAcknowledged(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.stored()
		_, err := a.Ask(t.Context(), job, pause, func(*jobstore.View, time.Time) error {
			time.Sleep(6 * time.Second)
			return nil
		})
		want.Err(t, err, jobstore.ErrNoQuorum)
	})
}
