package redlock

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// The leftover of an earlier attempt of the same acquisition is taken over, with a new number, so that it does not
// block the next attempt. No other value is taken over.
func TestAttempt_TakesOverItsOwnLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(3)
		defer c.Close()
		l, err := New(c.Links().Clients(), WithoutRestartGuard())
		if err != nil {
			t.Fatal(err)
		}
		r, _ := l.settings.newRequest("x", nil)
		attempt := func(contender string, number int) (*Lease, error) {
			v := value{contender: strings.Repeat("A", len(newContenderID())-len(contender)) + contender, attempt: number}
			lease, _, err := l.attempt(t.Context(), newGrant(r, v), l.askAll)
			synctest.Wait()
			return lease, err
		}
		me := newContenderID()

		second, err := attempt(me, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []struct {
			contender string
			attempt   int
		}{{me, 1}, {newContenderID(), 3}, {me[:len(me)-1] + "-", 3}} {
			if _, err := attempt(other.contender, other.attempt); !errors.Is(err, ErrHeld) {
				t.Errorf("%s's attempt %d over my second: %v", other.contender, other.attempt, err)
			}
		}
		again, err := attempt(me, 2)
		if err != nil || again.Token() != second.Token() {
			t.Errorf("the same attempt asked again: %v", err)
		}
		tenth, err := attempt(me, 10) // compared as a number, not as text
		if err != nil || tenth.Token() <= second.Token() {
			t.Errorf("my tenth attempt over my second: %v", err)
		}
		if err := tenth.Release(t.Context()); err != nil {
			t.Error(err)
		}
		_ = second.Release(t.Context()) // it is gone already
		_ = again.Release(t.Context())
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
