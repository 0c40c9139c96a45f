package redlock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// What an earlier attempt of the same acquisition left is taken over, with a new number: it must not
// hold up its own successor. Nothing else is.
func TestAttempt_TakesOverItsOwnLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(3)
		defer c.Close()
		l, err := New(c.Links().Clients(), WithoutRestartGuard())
		if err != nil {
			t.Fatal(err)
		}
		r, _ := l.newRequest("x", nil)
		attempt := func(contender string, number int) (*Lease, error) {
			v := value{contender: contender, attempt: number}
			lease, _, err := l.attempt(t.Context(), r, v, l.askAll)
			synctest.Wait()
			return lease, err
		}

		second, err := attempt("me", 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []struct {
			contender string
			attempt   int
		}{{"me", 1}, {"you", 3}, {"m", 3}, {"mee", 3}} {
			if _, err := attempt(other.contender, other.attempt); !errors.Is(err, ErrHeld) {
				t.Errorf("%s's attempt %d over my second: %v", other.contender, other.attempt, err)
			}
		}
		again, err := attempt("me", 2)
		if err != nil || again.Token() != second.Token() {
			t.Errorf("the same attempt asked again: %v", err)
		}
		tenth, err := attempt("me", 10) // numerically, not letter by letter
		if err != nil || tenth.Token() <= second.Token() {
			t.Errorf("my tenth attempt over my second: %v", err)
		}
		if err := tenth.Release(t.Context()); err != nil {
			t.Error(err)
		}
		_ = second.Release(t.Context()) // it is not there any more
		_ = again.Release(t.Context())
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A node that may have forgotten its locks is no better for having kept one of our own leftovers.
func TestAttempt_TakesOverNothingUnderGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(1)
		defer c.Close()
		l, err := New(c.Links().Clients())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := l.Close(t.Context()); err != nil {
				t.Log(err) // what is still held
			}
		}()
		r, _ := l.newRequest("x", nil)
		v := value{contender: "me", attempt: 1}
		if _, _, err := l.attempt(t.Context(), r, v, l.askAll); !errors.Is(err, ErrGuarded) {
			t.Fatal(err)
		}
		time.Sleep(r.ttl)
		if _, _, err := l.attempt(t.Context(), r, v, l.askAll); err != nil {
			t.Fatal(err)
		}
		c.Restart(0)
		time.Sleep(2 * time.Second)
		v.attempt = 2
		if _, _, err := l.attempt(t.Context(), r, v, l.askAll); !errors.Is(err, ErrGuarded) {
			t.Errorf("a second attempt after a restart: %v", err)
		}
	})
}
