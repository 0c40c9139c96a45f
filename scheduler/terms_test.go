package scheduler_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

func TestTerms_TellWhoHasLedSinceWhen(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		idle := c.idle("idle")
		without := c.leader("without jobs")
		without.stop()
		<-without.ended
		a := c.leader("a")
		first := now()
		a.add(a.job("job", "@hourly", quick))
		time.Sleep(time.Minute)
		b := c.replica("b")
		b.add(b.job("job", "@hourly", quick))
		a.stop()
		<-a.ended
		b.leads()
		second := now()
		time.Sleep(time.Minute)
		terms, err := idle.Terms(t.Context())
		if err != nil || len(terms) < 2 {
			t.Fatalf("terms %v (%v)", terms, err)
		}
		newer, older := terms[0], terms[1]
		if newer.Replica != "b" || older.Replica != "a" || newer.Token <= older.Token ||
			len(terms) > 2 && terms[2].Replica == "without jobs" {
			t.Errorf("terms %+v", terms)
		}
		for since, want := range map[time.Time]time.Time{newer.Since: second, older.Since: first} {
			if off := since.Sub(want).Abs(); off > 10*time.Millisecond {
				t.Errorf("a term began at %v, it is told to have at %v", c.at(want), c.at(since))
			}
		}
		idle.links.Cut(0, 1)
		if _, err := idle.Terms(t.Context()); !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("of one node: %v", err)
		}
	})
}

// A term that could not be noted when it began is when the nodes are back.
func TestTerms_AreNotedLater(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a")
		a.add(a.job("job", "@hourly", quick))
		a.links.Delay(50 * time.Millisecond)
		a.leads()
		began := now()
		a.links.Cut() // nothing that it asks as a leader has arrived
		time.Sleep(ttl / 4)
		a.links.Heal()
		time.Sleep(ttl)
		terms, err := a.Terms(t.Context())
		if err != nil || len(terms) == 0 || terms[0].Replica != "a" {
			t.Fatalf("terms %v (%v)", terms, err)
		}
		if off := terms[0].Since.Sub(began).Abs(); off > 10*time.Millisecond {
			t.Errorf("the term began %v off", off)
		}
	})
}
