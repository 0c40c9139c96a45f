package register_test

import (
	"maps"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// What a leader is told to be without an end is taken for lost, or run again: so nothing may be that has one.

func TestAdmit_LeavesNoRecordWithoutAnEndThatOthersHaveOneOf(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		a.mustPromise()
		time.Sleep(10 * time.Second)
		tick := c.tick(10 * time.Second)
		a.wins(tick, "a")
		time.Sleep(timeout) // all nodes have voted
		before := c.Snapshot(0)
		a.ends(tick, "a")
		c.RestartFrom(0, before)
		time.Sleep(longest)
		c.leader(2).mustPromise() // node 0 is admitted on the way
		if s := c.leader(3).mustPromise(); len(s.Open) > 0 {
			t.Errorf("without an end: %+v", s.Open)
		}
	})
}

func TestClaim_OfATickThatHasEndedLeavesNothing(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader(1), c.leader(1)
		a.mustPromise()
		b.mustPromise()
		for range 10 { // in some of them node 0 is asked first
			time.Sleep(10 * time.Second)
			tick := time.Now().Truncate(time.Second)
			a.links.Cut(0)
			a.wins(tick, "a")
			a.links.Heal()
			a.ends(tick, "a") // node 0 hears of the tick only now
			if o := b.claim(tick, "b", 1); o.Won || !o.Taken || o.By.Run != "a" {
				t.Errorf("another run got %+v", o)
			}
		}
		if s := c.leader(2).mustPromise(); len(s.Open) > 0 {
			t.Errorf("without an end: %+v", s.Open)
		}
	})
}

func TestClaim_OfAJobThatANodeDoesNotKnow(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		a.mustPromise()
		time.Sleep(10 * time.Second)
		c.Restart(0) // with what it had
		time.Sleep(longest)
		other := a.Promise(t.Context(), a.token, time.Now(), []register.Plan{{Job: "other", Text: "UTC @every 1s"}})[0]
		if other.Err != nil {
			t.Fatal(other.Err)
		}
		a.memories = other.Memories
		if o := a.claim(time.Now().Truncate(time.Second), "a", 1); o.Won || !o.Unknown || o.Forgot {
			t.Errorf("got %+v", o)
		}
	})
}

// ends writes that a run has ended well, to all nodes.
func (l *leader) ends(tick time.Time, run string) {
	l.c.T.Helper()
	record := l.record(tick, run, 1)
	record.State = register.OK
	if err := l.finish(record, true); err != nil {
		l.c.T.Fatal(err)
	}
	time.Sleep(timeout)
}

// All nodes restart at once, with their data: the next leader is told of what was under way, and of what a node takes
// for it; what was skipped stays skipped, and an end that a run has written stands.
func TestAdmit_KeepsWhatAQuorumForgot(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		a.mustPromise()
		time.Sleep(10 * time.Second)
		under, skipped, ended := c.tick(8*time.Second), c.tick(9*time.Second), c.tick(10*time.Second)
		a.wins(under, "under way")
		record := a.record(skipped, "skipped", 1)
		record.State = register.Skipped
		if o := a.Claim(t.Context(), 1, a.memories, []register.Claim{{Job: job, Record: record}})[0]; !o.Won {
			t.Fatalf("%+v", o)
		}
		a.wins(ended, "ended")
		time.Sleep(timeout) // all nodes have voted
		c.Kill(2)           // it does not hear of the end
		a.ends(ended, "ended")
		for i := range 3 {
			c.Restart(i)
		}
		b := c.leader(2)
		if s := b.mustPromise(); len(s.Open) != 2 || s.Open[0].Run != "under way" || s.Open[1].Run != "ended" {
			t.Errorf("without an end: %+v", s.Open)
		}
		want := map[time.Time]string{under.UTC(): register.Claimed, skipped.UTC(): register.Skipped, ended.UTC(): register.OK}
		check := func() {
			t.Helper()
			v, err := b.Read(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[time.Time]string)
			for _, r := range v.Records {
				got[r.Slot.At.UTC()] = r.State
			}
			if !maps.Equal(got, want) {
				t.Errorf("records %v, want %v", got, want)
			}
		}
		check()
		a.ends(under, "under way") // its process lives
		want[under.UTC()] = register.OK
		check()
	})
}
