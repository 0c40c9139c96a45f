//go:build unix

package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
)

// overlapping has transactions of a holder follow each other until the function that it returns is called: each ends when the next one
// is inside, or after a while if no other one gets in.
func (d *database) overlapping(db *fenced.DB, token uint64, while time.Duration) (stop func()) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	var all sync.WaitGroup
	next := make(chan struct{})
	inTurn := func(ctx context.Context, _ *sql.Tx) error {
		select {
		case next <- struct{}{}:
		default: // nobody is inside
		}
		select {
		case <-next:
		case <-time.After(while):
		case <-ctx.Done():
		}
		return nil
	}
	for range 3 {
		all.Go(func() { // waited for by stop
			for ctx.Err() == nil {
				err := fenced.Tx(ctx, db, plain(token), inTurn)
				if err != nil && ctx.Err() == nil && !errors.Is(err, fenced.ErrFenced) {
					d.t.Error(err)
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

func TestTransactionsThatAlwaysOverlap_KeepNobodyWaiting(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced(fenced.WithRetention(2 * time.Hour))
		must(t, fenced.Tx(t.Context(), db, aged("ledger", 8*time.Hour), d.effect("one")))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		stop := d.overlapping(db, 7, 200*time.Millisecond) // shorter than Clean waits
		if n, err := db.Clean(ctx, 10); n != 1 || err != nil {
			t.Errorf("Clean has removed %d keys, %v", n, err)
		}
		stop()
		stop = d.overlapping(db, 7, 2*time.Second)
		defer stop()
		if err := fenced.Claim(ctx, db, plain(8)); err != nil {
			t.Errorf("the next leader: %v", err)
		}
	}, fenced.PostgreSQL, fenced.MySQL)
}

func TestClean_GoesOnWhereAResourceIsNotFree(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced(fenced.WithRetention(2 * time.Hour))
		for _, resource := range []string{"a", "b", "c"} {
			must(t, fenced.Tx(t.Context(), db, aged(resource, 8*time.Hour), d.effect("old")))
		}
		err := fenced.Tx(t.Context(), db, aged("b", time.Hour), func(ctx context.Context, _ *sql.Tx) error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			n, err := db.Clean(ctx, 10)
			if n != 2 || err == nil || !strings.Contains(err.Error(), `"b"`) || ctx.Err() != nil {
				t.Errorf("%d keys were removed, %v", n, err)
			}
			return nil
		})
		must(t, err)
		if n, err := db.Clean(t.Context(), 10); n != 1 || err != nil {
			t.Errorf("when it is free, %d keys are removed, %v", n, err)
		}
	}, fenced.PostgreSQL)
}

// It has nothing to wait for: the fence had its token when the transaction came.
func TestClaim_WaitsForNobodyWithTheSameToken(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		must(t, fenced.Tx(t.Context(), db, holder(7, 1), func(context.Context, *sql.Tx) error {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			return fenced.Claim(ctx, db, plain(7))
		}))
	}, fenced.PostgreSQL, fenced.MySQL)
}

// It waits for its own transaction, and not for those of others on the resource.
func TestTx_FindsOutWhileOtherTransactionsOverlap(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db, proxy := d.lossy(fenced.WithSettle(5 * time.Second))
		leave := d.under(d.over(d.sql), plain(7), nothing)
		calls := 0
		proxy.LoseNext(sqlproc.Request)
		err := fenced.Tx(t.Context(), db, holder(7, 1), counted(&calls, d.effect("second")))
		must(t, leave(), err)
		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
		d.wantEffects(2)
	}, fenced.PostgreSQL, fenced.MySQL)
}

// Each has the tables in a schema of its own, under the same names.
func TestClaim_WaitsForNoOtherSchema(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		var dbs [2]*fenced.DB
		for n := range dbs {
			schema := fmt.Sprintf("%s_%d", d.effects, n)
			d.exec("CREATE SCHEMA " + schema)
			dbs[n] = d.over(d.open("", "search_path="+schema))
			must(t, dbs[n].Init(t.Context()))
		}
		must(t, fenced.Tx(t.Context(), dbs[0], holder(7, 1), func(ctx context.Context, _ *sql.Tx) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			return fenced.Claim(ctx, dbs[1], plain(8))
		}))
	}, fenced.PostgreSQL)
}
