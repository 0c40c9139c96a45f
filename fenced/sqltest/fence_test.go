//go:build unix

package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
)

// A comparison alone would let the predecessor commit after its successor has looked.
func TestClaim_WaitsForTheTransactionOfThePredecessor(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		for i, before := range []fenced.Holder{holder(7, 1), plain(9)} {
			must(t, fenced.Claim(t.Context(), db, before))
			leave := d.under(db, before, d.effect("by the predecessor"))
			d.wantWait(leave, func() error { return fenced.Claim(t.Context(), db, plain(before.Token+1)) })
			d.wantEffects(i + 1)
		}
	})
}

func TestTx_RunsOfOneLeaderGoOnInParallel(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		meet := make(chan struct{})
		var all sync.WaitGroup
		for n := range 2 {
			all.Go(func() { // waited for below
				err := fenced.Tx(t.Context(), db, holder(7, n), func(ctx context.Context, tx *sql.Tx) error {
					select {
					case meet <- struct{}{}:
					case <-meet:
					case <-time.After(10 * time.Second):
						return errors.New("the other one waits for the end of this")
					}
					return d.effect("one of two")(ctx, tx)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		d.wantEffects(2)
	}, fenced.PostgreSQL, fenced.MySQL) // SQLite has one writer at a time
}

func TestClaim_RaisesAllOrSaysWhoWasThere(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		a, b := plain(5), plain(5)
		b.Resource = "stock"
		must(t, fenced.Claim(t.Context(), db, a, b), fenced.Claim(t.Context(), db, a, b))
		a.Token = 6
		must(t, fenced.Claim(t.Context(), db, a))
		b.Token = 4
		if err := fenced.Tx(t.Context(), db, b, d.effect("late")); !errors.Is(err, fenced.ErrFenced) {
			t.Error(err)
		}
		b.Token = 5
		must(t, fenced.Tx(t.Context(), db, b, d.effect("in time")))
	})
}

// The fence is raised by a transaction that has not ended yet when the check comes to it.
func TestFence_IsCheckedAsARaiseUnderWayLeavesIt(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		must(t, fenced.Claim(t.Context(), db, plain(7)))
		raise, err := d.sql.BeginTx(t.Context(), nil)
		must(t, err)
		fences := "fences_" + strings.TrimPrefix(d.effects, "effects_")
		_, err = raise.ExecContext(t.Context(), "UPDATE "+fences+" SET token = 9 WHERE resource = 'ledger'")
		must(t, err)
		over := make(chan error, 3)
		go func() { over <- fenced.Claim(t.Context(), db, plain(8)) }() // received below
		for _, h := range []fenced.Holder{holder(7, 1), plain(7)} {
			go func() { over <- fenced.Tx(t.Context(), db, h, d.effect("late")) }() // received below
		}
		select {
		case err := <-over:
			t.Errorf("it did not wait: %v", err)
			over <- err
		case <-time.After(200 * time.Millisecond): // what is wrong is shown at once
		}
		must(t, raise.Commit())
		for range 3 {
			if err := <-over; !errors.Is(err, fenced.ErrFenced) {
				t.Error(err)
			}
		}
		d.wantEffects(0)
	}, fenced.PostgreSQL, fenced.MySQL)
}
