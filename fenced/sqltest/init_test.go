//go:build unix

package sqltest_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
)

// The first replica has created the tables, and its COMMIT is under way. The second one looks, and finds no tables.
func TestInit_WaitsForAReplicaThatCreatesTheTables(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		proxy, err := sqlproc.NewProxy(d.server.Addr())
		must(t, err)
		t.Cleanup(func() { must(t, proxy.Close()) })
		proxy.LoseNext(sqlproc.Delayed)
		if err := d.over(d.open(proxy.Addr())).Init(t.Context()); err == nil {
			t.Fatal("the first replica knows of its commit")
		}
		second := make(chan error, 1)
		go func() { second <- d.over(d.sql).Init(t.Context()) }() // received below
		for waiting := 0; waiting == 0 && len(second) == 0; {
			must(t, d.sql.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waiting))
		}
		proxy.Deliver()
		must(t, <-second)
		must(t, fenced.Tx(t.Context(), d.over(d.sql), holder(7, 1), d.effect("one")))
		d.wantEffects(1)
	}, fenced.PostgreSQL) // the others create a table in a transaction of its own
}
