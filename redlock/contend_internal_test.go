package redlock

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
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
		r, _ := l.newRequest("x", nil)
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

// If the first node is free and the others name a holder, the holder may be releasing the lock at that moment, and no
// message may report it.
func TestContend_AsksAgainSoonWhereANodeIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(3)
		defer c.Close()
		l, err := New(c.Links().Clients(), WithoutRestartGuard())
		if err != nil {
			t.Fatal(err)
		}
		var held []*redis.Client
		for _, i := range l.order("x")[1:] {
			held = append(held, c.Raw()[i])
			c.Delay(time.Millisecond, i)
		}
		records.Default.Put(t, "x", records.SomebodyElse, time.Hour, held...)
		time.AfterFunc(time.Second, func() { records.Default.Drop(t, "x", held...) })
		began := time.Now()
		lease, err := l.Acquire(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Second || took > 3*time.Second {
			t.Errorf("took %v, want a little more than the second for which it was held", took)
		}
		if err := errors.Join(lease.Release(t.Context()), l.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
