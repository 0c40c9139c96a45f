//go:build unix

package sqltest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
)

// aged has a tick that is that old.
func aged(resource string, age time.Duration) fenced.Holder {
	at := time.Now().Add(-age).Truncate(time.Second)
	return fenced.Holder{Resource: resource, Token: 7, Key: fmt.Sprintf("job@%d", at.UnixMilli()), Tick: at}
}

func (d *database) keys() (n int) {
	d.t.Helper()
	table := "keys_" + strings.TrimPrefix(d.effects, "effects_")
	must(d.t, d.sql.QueryRowContext(d.t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n))
	return n
}

func TestClean_RemovesAtMostThatManyAndNothingThatIsYoung(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced(fenced.WithRetention(2 * time.Hour))
		for i := range 5 {
			must(t, fenced.Tx(t.Context(), db, aged("a", time.Duration(10-i)*time.Hour), d.effect("old")))
			must(t, fenced.Tx(t.Context(), db, aged("b", time.Duration(10-i)*time.Hour), d.effect("old")))
		}
		young := aged("a", time.Hour)
		must(t, fenced.Tx(t.Context(), db, young, d.effect("young")))
		for i, want := range []int{4, 4, 2, 0} {
			if got, err := db.Clean(t.Context(), 4); err != nil || got != want {
				t.Errorf("call %d removed %d keys, want %d; %v", i, got, want, err)
			}
		}
		if got := d.keys(); got != 1 {
			t.Errorf("%d keys are left", got)
		}
		if err := fenced.Tx(t.Context(), db, young, d.effect("again")); !errors.Is(err, fenced.ErrDone) {
			t.Error(err)
		}
		d.wantEffects(11)
	})
}

func TestClean_AKeyThatWasRemovedIsNotRunAgain(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced(fenced.WithRetention(2 * time.Hour))
		oldest, old, between := aged("a", 10*time.Hour), aged("a", 8*time.Hour), aged("a", 9*time.Hour)
		must(t, fenced.Tx(t.Context(), db, oldest, d.effect("one")), fenced.Tx(t.Context(), db, old, d.effect("one")))
		if n, err := db.Clean(t.Context(), 1); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		err := fenced.Tx(t.Context(), db, oldest, d.effect("again"))
		var cleaned *fenced.CleanedError
		if !errors.Is(err, fenced.ErrCleaned) || !errors.As(err, &cleaned) ||
			!cleaned.Cleaned.Equal(oldest.Tick) || !cleaned.Tick.Equal(oldest.Tick) {
			t.Errorf("removed: %v", err)
		}
		next := oldest
		next.Token++
		if err := fenced.Tx(t.Context(), db, next, d.effect("again")); !errors.Is(err, fenced.ErrCleaned) {
			t.Errorf("removed, asked by the next leader: %v", err)
		}
		old.Token, between.Token = next.Token, next.Token
		if err := fenced.Tx(t.Context(), db, old, d.effect("again")); !errors.Is(err, fenced.ErrDone) {
			t.Errorf("not removed: %v", err)
		}
		must(t, fenced.Tx(t.Context(), db, between, d.effect("late"))) // it is after what was removed
		d.wantEffects(3)
	})
}

// A transaction that has passed the check before the mark must have its key in the table before keys are removed.
func TestClean_WaitsForTransactionsUnderWay(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced(fenced.WithRetention(2 * time.Hour))
		must(t, fenced.Tx(t.Context(), db, aged("a", 8*time.Hour), d.effect("one")))
		leave := d.under(db, aged("a", time.Hour), nothing)
		d.wantWait(leave, func() error {
			_, err := db.Clean(t.Context(), 10)
			return err
		})
	})
}
