//go:build unix

package sqltest_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/redlockfx/redlockfx/fenced"
)

func TestTables_AreMissing(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.over(d.sql)
		for what, err := range map[string]error{
			"check": db.Check(t.Context()), "claim": fenced.Claim(t.Context(), db, plain(7)),
			"transaction": fenced.Tx(t.Context(), db, holder(7, 1), d.effect("never")),
		} {
			if !errors.Is(err, fenced.ErrNoTable) || !strings.Contains(err.Error(), "keys_") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := db.Clean(t.Context(), 1); !errors.Is(err, fenced.ErrNoTable) {
			t.Errorf("clean: %v", err)
		}
		must(t, db.Init(t.Context()), fenced.Claim(t.Context(), db, plain(7)))
		d.exec("DROP TABLE keys_" + strings.TrimPrefix(d.effects, "effects_"))
		if err := fenced.Tx(t.Context(), db, holder(7, 1), d.effect("never")); !errors.Is(err, fenced.ErrNoTable) {
			t.Errorf("dropped later: %v", err)
		}
		d.wantEffects(0)
	})
}

func TestTables_AreOfAnotherVersion(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		d.fenced()
		fences := "fences_" + strings.TrimPrefix(d.effects, "effects_")
		want := func(have int64) {
			t.Helper()
			db := d.over(d.sql) // one that has not looked yet
			for _, err := range []error{fenced.Tx(t.Context(), db, holder(7, 1), d.effect("never")), db.Init(t.Context())} {
				var wrong *fenced.SchemaError
				if !errors.Is(err, fenced.ErrSchema) || !errors.As(err, &wrong) || wrong.Have != have || wrong.Want != 1 {
					t.Errorf("version %d: %v", have, err)
				}
			}
		}
		d.exec("UPDATE " + fences + " SET token = 2 WHERE resource = ''")
		want(2)
		d.exec("DROP TABLE " + fences)
		d.exec("CREATE TABLE " + fences + " (name VARCHAR(100))")
		want(0)
		d.wantEffects(0)
	})
}

func TestInit_BySeveralReplicasAtATime(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		conns := d.sql
		if d.dialect == fenced.PostgreSQL { // where most can fail
			conns = d.open("", "default_transaction_isolation=serializable")
		}
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { // waited for below
				if err := d.over(conns).Init(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		must(t, fenced.Tx(t.Context(), d.over(d.sql), holder(7, 1), d.effect("one")))
	})
}

func TestSchema_IsAMigration(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		schema, err := fenced.Schema(d.dialect, d.opts...)
		must(t, err)
		for range 2 { // a second time it changes nothing
			for statement := range strings.SplitSeq(schema, ";\n") {
				if statement != "" {
					d.exec(statement)
				}
			}
			must(t, fenced.Claim(t.Context(), d.over(d.sql), plain(7)))
		}
		must(t, d.over(d.sql).Init(t.Context()))
	})
}

func TestTables_HaveNamesThatNeedQuotes(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		number := strings.TrimPrefix(d.effects, "effects_")
		prefix := map[fenced.Dialect]string{fenced.PostgreSQL: "public.", fenced.MySQL: "test."}[d.dialect] // its schema
		db := d.fenced(fenced.WithTables(prefix+"Select_"+number, prefix+"order"))
		h := holder(7, 1)
		h.Resource = d.effects // the tables are shared where the test is repeated
		must(t, fenced.Tx(t.Context(), db, h, d.effect("one")))
		if _, err := db.Clean(t.Context(), 1); err != nil {
			t.Error(err)
		}
	})
}
