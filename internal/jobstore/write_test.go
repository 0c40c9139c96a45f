package jobstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func wantKnown(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the nodes know %q, want %q", got, want)
	}
}

// wantMost is for a prepare that may not have waited for one of three nodes.
func wantMost(t *testing.T, got []string, want string) {
	t.Helper()
	others := slices.DeleteFunc(slices.Clone(got), func(known string) bool { return known == want })
	if len(others) > 1 || len(others) == 1 && others[0] != "error" {
		t.Errorf("the nodes know %q, want %q", got, want)
	}
}

// Nobody could decode the state. Other states in the same call are stored.
func TestWrite_AStateThatCannotBeReadIsNotSent(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		w := c.writer("a")
		w.mustPrepare(job)
		w.mustPrepare("other")
		good, bad := jobstore.State{Mark: c.Start}, jobstore.State{Mark: c.Start}
		for i := range jobstore.MaxOpen + 1 {
			bad.Open = append(bad.Open, jobstore.Open{ID: fmt.Sprint(i), Slot: jobstore.Slot{At: c.Start}})
		}
		errs, _ := w.writeAll(&jobstore.Write{Job: job, State: &bad}, &jobstore.Write{Job: "other", State: &good})
		if len(errs) != 2 || errs[0] == nil || errs[1] != nil {
			t.Errorf("got %v", errs)
		}
		if errs, _ := w.writeAll(&jobstore.Write{Job: job, State: &bad}); len(errs) != 1 || errs[0] == nil {
			t.Errorf("alone: %v", errs)
		}
		bad.Open = bad.Open[1:]
		if errs, _ := w.writeAll(&jobstore.Write{Job: job, State: &bad}); errs[0] != nil {
			t.Error(errs[0])
		}
		basis, err := w.Decide(w.mustPrepare(job), 0)
		if err != nil || len(basis.State.Open) != jobstore.MaxOpen {
			t.Errorf("%d runs are open, %v", len(basis.State.Open), err)
		}
	})
}

func TestPrepare_TellsWhatWasWritten(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.writer("a"), c.writer("b")
		for _, p := range a.mustPrepare(job) {
			if p.Err == nil && p.Jobs[0].Kind != jobstore.None {
				t.Errorf("it knows %+v of a job that nobody has written", p.Jobs[0])
			}
		}
		state := full(c.Start)
		if _, err := a.writeState(state, true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		found := 0
		for _, p := range b.mustPrepare(job) {
			if p.Err != nil {
				continue
			}
			found++
			wantState(t, p.Jobs[0].State, state)
			if at := p.Jobs[0].At; at != (jobstore.At{Ballot: a.ballot, Seq: 1}) {
				t.Errorf("it was written at %v", at)
			}
			if p.Previous.Promised != a.ballot || p.Previous.Leader != (jobstore.Leader{Token: 7, Replica: "a"}) {
				t.Errorf("the previous header was %+v", p.Previous)
			}
		}
		if found < 2 {
			t.Errorf("%d nodes returned it", found)
		}
	})
}

func TestWrite_OfALeaderBeforeIsRefused(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.writer("a"), c.writer("b")
		a.mustPrepare(job)
		a.mustWrite(10 * time.Second)
		time.Sleep(time.Second)
		b.mustPrepare(job)
		time.Sleep(timeout)
		err := a.write(20*time.Second, true)
		want.Err(t, err, jobstore.ErrFenced)
		fenced, ok := errors.AsType[*jobstore.FencedError](err)
		if !ok || fenced.Header.Leader.Replica != "b" || fenced.Header.Promised != b.ballot {
			t.Errorf("it was refused by %v", err)
		}
		_, err = a.Prepare(t.Context(), a.ballot, jobstore.Leader{}, nil)
		want.Err(t, err, jobstore.ErrFenced)
		wantMost(t, c.known(b.mustPrepare(job)), "present 10s")
	})
}

// An earlier state that arrives late, or again, undoes nothing.
func TestWrite_OfALeaderIsInOrder(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.writer("a")
		a.mustPrepare(job)
		a.mustWrite(10 * time.Second)
		a.mustWrite(20 * time.Second)
		a.seq = 0
		want.Text(t, a.write(10*time.Second, false), jobstore.ErrLate.Error())
		a.mustWrite(20 * time.Second) // the same again changes nothing
		wantKnown(t, c.known(a.mustPrepare(job)), "present 20s")
	})
}

func TestWrite_WhereANodeWasNotPrepared(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.writer("a")
		a.links.Cut(2)
		a.mustPrepare(job)
		a.links.Heal()
		a.mustWrite(10 * time.Second)
		time.Sleep(timeout)
		wantMost(t, c.known(a.mustPrepare(job)), "present 10s")
		a.links.Cut(1)
		wantKnown(t, c.known(a.mustPrepare(job)), "present 10s", "error", "present 10s")
	})
}

func TestWrite_NothingAheadOfTheClock(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.writer("a")
		ahead := jobstore.NewBallot(0, time.Now().Add(3*time.Second))
		_, err := a.Prepare(t.Context(), ahead, jobstore.Leader{}, nil)
		want.Text(t, err, "the ballot is ahead of the node's clock")
		want.Err(t, err, jobstore.ErrNoQuorum)
		a.mustPrepare(job)
		now := time.Since(c.Start).Truncate(time.Millisecond)
		a.mustWrite(now + jobstore.Ahead - 100*time.Millisecond)
		want.Text(t, a.write(now+jobstore.Ahead+100*time.Millisecond, true), "the mark is ahead of the node's clock")
		time.Sleep(timeout)
		a.ballot = jobstore.NewBallot(0, time.Now().Add(3*time.Second))
		want.Text(t, a.write(10*time.Second, true), "the ballot is ahead of the node's clock")
	})
}

// A node that has lost its state serves no ballot that it may have served before, and none that it has not promised.
func TestWrite_ToANodeThatLostItsState(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.stored()
		c.Wipe(2)
		a.links.Cut(1)
		a.links.Delay(time.Millisecond, 2) // node 0 stores the state before the outcome is decided
		unserved, err := a.writeState(jobstore.State{Mark: c.Start.Add(20 * time.Second)}, false)
		want.Err(t, err, jobstore.ErrNoQuorum)
		if unserved != 1 {
			t.Errorf("%d nodes serve only a larger ballot", unserved)
		}
		_, err = a.Prepare(t.Context(), a.ballot, jobstore.Leader{}, nil)
		want.Text(t, err, jobstore.ErrYoung.Error())
		time.Sleep(time.Second)
		_, err = a.prepare(job)
		want.Text(t, err, jobstore.ErrYoung.Error())
		time.Sleep(jobstore.Ahead)
		wantKnown(t, c.known(a.mustPrepare(job)), "present 20s", "error", "none")
		a.mustWrite(30 * time.Second)
		wantKnown(t, c.known(a.mustPrepare(job)), "present 30s", "error", "present 30s")
	})
}

// The node has started another incarnation, in which it has promised nothing yet.
func TestWrite_UnderABallotThatANodeCanHaveServedBefore(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.writer("a"), c.writer("b")
		a.mustPrepare(job)
		a.mustWrite(10 * time.Second)
		time.Sleep(timeout)
		c.Wipe(1)
		c.Wipe(2)
		_, err := b.prepare(job)
		want.Text(t, err, jobstore.ErrYoung.Error())
		a.links.Hang(0) // so that the others decide
		unserved, err := a.writeState(jobstore.State{Mark: c.Start.Add(20 * time.Second)}, true)
		want.Err(t, err, jobstore.ErrNoQuorum)
		want.Text(t, err, jobstore.ErrYoung.Error())
		if unserved != 2 {
			t.Errorf("%d nodes serve only a larger ballot", unserved)
		}
	})
}

// One node got the entry of another node, whose clock was ahead.
func TestPrepare_AMarkAheadOfTheClockIsNotBelieved(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.stored()
		a.links.Cut(2)
		entry := c.Node(0).HGet("{redlock}:jobs:x", job)
		at := len(entry) - len(jobstore.State{Mark: c.Start.Add(10 * time.Second)}.Text())
		future := jobstore.State{Mark: time.Now().Add(time.Hour)}
		c.Node(0).HSet("{redlock}:jobs:x", job, entry[:at]+future.Text())
		_, err := a.Decide(a.mustPrepare(job), 0)
		want.Err(t, err, jobstore.ErrNoQuorum)
		want.Text(t, err, "its mark is ahead of the node's clock")
	})
}

func TestContinues(t *testing.T) {
	for name, test := range map[string]struct {
		between   func(c *cluster, b *writer)
		continues bool
	}{
		"nothing in between":          {func(*cluster, *writer) {}, true},
		"another one was promised":    {func(_ *cluster, b *writer) { b.mustPrepare() }, false},
		"of that one node alone":      {func(_ *cluster, b *writer) { b.links.Cut(1, 2); _, _ = b.prepare() }, true},
		"one node has lost its state": {func(c *cluster, _ *writer) { c.Restart(2) }, true},
		"two have lost their state":   {func(c *cluster, _ *writer) { c.Restart(1); c.Restart(2) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b, other := c.writer("a"), c.writer("b"), c.writerOf("y", "other")
				a.mustPrepare(job)
				own := []jobstore.Ballot{a.ballot}
				a.mustWrite(10 * time.Second)
				time.Sleep(timeout)
				test.between(c, b)
				_, _ = other.prepare() // so that a restarted node starts its new incarnation now
				time.Sleep(jobstore.Ahead + time.Second)
				a.links.Delay(time.Millisecond, 0) // the other nodes answer first
				if got := a.Continues(a.mustPrepare(job), own); got != test.continues {
					t.Errorf("it continues: %v", got)
				}
			})
		})
	}
}

// The number of a write has eight digits.
func TestWrite_RefusesANumberThatIsTooWide(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.writer("a")
		a.mustPrepare(job)
		a.seq = jobstore.MaxSeq - 1
		a.mustWrite(time.Second)
		want.Text(t, a.write(2*time.Second, false), "at most 99999999")
		a.mustPrepare(job)
		a.mustWrite(2 * time.Second)
	})
}

// Somebody has written a string under the key of a job's list of runs.
func TestWrite_AHistoryOfAnotherTypeCostsNoOtherJobAnything(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.writer("a")
		a.mustPrepare(job, "sound")
		want.NoError(t, c.Node(0).Set("{redlock}:runs:x:"+job, "text"))
		ended := []jobstore.Record{{Slot: jobstore.Slot{At: c.Start}, State: jobstore.StateOK, Start: c.Start}}
		var writes []*jobstore.Write
		for _, name := range []string{job, "sound"} {
			writes = append(writes, &jobstore.Write{Job: name, State: &jobstore.State{Mark: c.Start}, Ended: ended})
		}
		if errs, _ := a.writeAll(writes...); errs[0] != nil || errs[1] != nil {
			t.Errorf("the states are not stored: %v", errs)
		}
		if got, err := a.History(t.Context(), "sound", 9); err != nil || len(got) != 1 {
			t.Errorf("the other job's history has %d records: %v", len(got), err)
		}
		_, err := a.History(t.Context(), job, 9)
		want.Text(t, err, "WRONGTYPE")
	})
}
