//go:build unix

package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
)

// lossy returns the library's view through a proxy, after one transaction has gone through it.
func (d *database) lossy(opts ...fenced.Option) (*fenced.DB, *sqlproc.Proxy) {
	d.t.Helper()
	d.fenced()
	proxy, err := sqlproc.NewProxy(d.server.Addr())
	must(d.t, err)
	d.t.Cleanup(func() { _ = proxy.Close() })
	db := d.over(d.open(proxy.Addr()), opts...)
	must(d.t, fenced.Tx(d.t.Context(), db, holder(7, 0), d.effect("first")))
	return db, proxy
}

// counted counts the calls of a function.
func counted(calls *int, fn func(context.Context, *sql.Tx) error) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error { *calls++; return fn(ctx, tx) }
}

// The client has lost its connection, and the server has not yet got the COMMIT.
func TestTx_WaitsForTheLostTransactionToEnd(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		for _, isolation := range isolations(d.dialect) {
			d.exec("DELETE FROM " + d.effects)
			d.opts[0] = fenced.WithTables(d.effects+"_f_"+isolation[0], d.effects+"_k_"+isolation[0])
			d.fenced()
			proxy, err := sqlproc.NewProxy(d.server.Addr())
			must(t, err)
			db := d.over(d.open(proxy.Addr(), isolation[1:]...))
			must(t, fenced.Claim(t.Context(), db, plain(7)))
			calls := 0
			proxy.LoseNext(sqlproc.Delayed)
			go func() { // ends by itself; Close of the proxy waits for what it lets go on
				<-time.After(200 * time.Millisecond) // whoever does not wait has been there before
				proxy.Deliver()
			}()
			must(t, fenced.Tx(t.Context(), db, holder(7, 1), counted(&calls, d.effect("one"))))
			if calls != 1 {
				t.Errorf("%s: %d calls", isolation[0], calls)
			}
			d.wantEffects(1)
			must(t, proxy.Close())
		}
	}, fenced.PostgreSQL, fenced.MySQL)
}

// isolations are the default of a database and another one, each with its parameter of the data source.
func isolations(dialect fenced.Dialect) [][]string {
	if dialect == fenced.PostgreSQL {
		return [][]string{{"default"}, {"repeatable_read", "default_transaction_isolation=repeatable%20read"},
			{"serializable", "default_transaction_isolation=serializable"}}
	}
	return [][]string{{"default"}, {"read_committed", "tx_isolation=%27READ-COMMITTED%27"}}
}

func TestTx_SaysThatItDoesNotKnow(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db, proxy := d.lossy(fenced.WithSettle(300 * time.Millisecond))
		proxy.LoseNext(sqlproc.Delayed) // until the proxy is closed, so the transaction stays open
		calls := 0
		err := fenced.Tx(t.Context(), db, holder(7, 1), counted(&calls, d.effect("second")))
		if !errors.Is(err, fenced.ErrUnknown) || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
		proxy.LoseNext(sqlproc.Answer)
		if err := fenced.Tx(t.Context(), db, plain(7), d.effect("without a key")); !errors.Is(err, fenced.ErrUnknown) {
			t.Errorf("without a key: %v", err)
		}
		must(t, proxy.Close())
		direct := d.over(d.sql)
		must(t, fenced.Tx(t.Context(), direct, holder(7, 1), d.effect("second")))
		d.wantEffects(3)
	}, fenced.PostgreSQL, fenced.MySQL)
}

// The context ends while the commit is under way.
func TestTx_LearnsOfItsCommitAfterTheContextHasEnded(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db, proxy := d.lossy()
		ctx, cancel := context.WithCancel(t.Context())
		proxy.LoseNext(sqlproc.Delayed)
		go func() { // ends by itself
			<-time.After(100 * time.Millisecond)
			cancel()
			proxy.Deliver()
		}()
		if err := fenced.Tx(ctx, db, holder(7, 1), d.effect("second")); err != nil {
			t.Error(err)
		}
		d.wantEffects(2)
	}, fenced.PostgreSQL, fenced.MySQL)
}

func TestTx_SaysThatTheDatabaseIsAway(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db, proxy := d.lossy()
		proxy.Cut()
		calls := 0
		err := fenced.Tx(t.Context(), db, holder(7, 1), counted(&calls, d.effect("second")))
		if err == nil || errors.Is(err, fenced.ErrUnknown) || errors.Unwrap(err) == nil || calls != 0 {
			t.Errorf("%d calls, %v", calls, err)
		}
		if err := d.over(d.open(proxy.Addr())).Check(t.Context()); err == nil {
			t.Error("Check finds tables")
		}
		proxy.Heal()
		must(t, fenced.Tx(t.Context(), db, holder(7, 1), d.effect("second")))
		err = fenced.Tx(t.Context(), db, holder(7, 2), func(ctx context.Context, tx *sql.Tx) error {
			must(t, d.effect("third")(ctx, tx))
			proxy.Cut()
			return d.effect("and more")(ctx, tx)
		})
		if err == nil {
			t.Error("cut off within the function, and no error")
		}
		d.wantEffects(2)
	}, fenced.PostgreSQL, fenced.MySQL)
}

// Another replica has done it after the transaction whose commit was lost.
func TestTx_TakesNoOtherCommitForItsOwn(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db, proxy := d.lossy()
		direct, other := d.over(d.sql), make(chan error, 1)
		proxy.LoseNext(sqlproc.Request)
		err := fenced.Tx(t.Context(), db, holder(7, 1), func(context.Context, *sql.Tx) error {
			go func() { other <- fenced.Tx(t.Context(), direct, holder(7, 1), d.effect("by another")) }() // received below
			select {
			case err := <-other:
				t.Errorf("it did not wait for this transaction: %v", err)
			case <-time.After(300 * time.Millisecond): // it has the fence, and waits for the key
			}
			return nil
		})
		must(t, <-other)
		if !errors.Is(err, fenced.ErrDone) {
			t.Errorf("want %v, got %v", fenced.ErrDone, err)
		}
		d.wantEffects(2)
	}, fenced.PostgreSQL, fenced.MySQL)
}
