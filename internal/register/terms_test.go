package register_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/register"
)

// Some are known to one node alone: that is enough, since nothing rests on it.
func TestTerms_AreThoseThatAnyNodeRemembers(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		var want []register.Term
		for token := range uint64(9) {
			term := register.Term{Token: token + 1, By: fmt.Sprint("pod:", token), Since: time.Now().UTC()}
			want = append(want, term)
			away := int(token % 3)
			a.links.Cut(away)
			for range 2 { // again, as after a lost reply
				if err := a.NoteTerm(t.Context(), term); err != nil {
					t.Fatal(err)
				}
			}
			a.links.Heal()
			time.Sleep(time.Minute)
		}
		slices.Reverse(want)
		for away := range 3 {
			a.links.Cut(away)
			if got, err := a.Terms(t.Context()); err != nil || !slices.Equal(got, want) {
				t.Errorf("without node %d: %v (%v), want %v", away, got, err, want)
			}
			a.links.Heal()
			time.Sleep(time.Minute)
		}
		a.links.Cut(0, 1)
		if got, err := a.Terms(t.Context()); err == nil {
			t.Errorf("of one node: %v", got)
		}
		if err := a.NoteTerm(t.Context(), want[0]); err == nil {
			t.Error("one node is enough for a note")
		}
	})
}

func TestTerms_AHundredAreKept(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		for token := range uint64(130) {
			if err := a.NoteTerm(t.Context(), register.Term{Token: 2*token + 1}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := a.Terms(t.Context())
		if err != nil || len(got) != 100 || got[0].Token != 259 || got[99].Token != 61 {
			t.Errorf("%d terms (%v): %v", len(got), err, got)
		}
		if left := c.Node(0).TTL("{redlock}:terms:x"); left < 399*24*time.Hour {
			t.Errorf("they are left for %v", left)
		}
	})
}

func TestTerms_OfAKeyThatIsSomethingElse(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader(1)
		if err := c.Node(0).Set("{redlock}:terms:x", "text"); err != nil {
			t.Fatal(err)
		}
		if err := a.NoteTerm(t.Context(), register.Term{Token: 1}); err == nil {
			t.Error("noted in a string")
		}
		if got, err := a.Terms(t.Context()); err == nil {
			t.Errorf("read from a string: %v", got)
		}
	})
}
