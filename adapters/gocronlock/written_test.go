package gocronlock_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/adapters/gocronlock"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/passworded"
	"github.com/redlockfx/redlockfx/internal/testkit/written"
)

func TestWhatIsMade_IsWrittenWithoutThePassword(t *testing.T) {
	l := passworded.Open(t)
	e, err := election.New(l, "x")
	if err != nil {
		t.Fatal(err)
	}
	locker, err := gocronlock.Locker(l, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := locker.Lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	_, held := locker.Lock(t.Context(), "x")
	written.Without(t, passworded.Password, map[string]any{
		"Elector": gocronlock.Elector(e), "Locker": locker, "Lock": lock, "error": held,
	})
	if err := lock.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}
