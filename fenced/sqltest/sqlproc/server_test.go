//go:build unix

package sqlproc_test

import (
	"context"
	"database/sql"
	"testing"

	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServers_KeepWhatIsCommittedOverAKill(t *testing.T) {
	for name, start := range map[string]func(context.Context, ...string) (*sqlproc.Server, error){
		"PostgreSQL": sqlproc.StartPostgreSQL, "MariaDB": sqlproc.StartMariaDB,
	} {
		t.Run(name, func(t *testing.T) {
			s, err := start(t.Context())
			must(t, err)
			defer func() { must(t, s.Close()) }()
			db, err := sql.Open(s.Driver, s.DSN(s.Addr()))
			must(t, err)
			defer func() { must(t, db.Close()) }()
			_, err = db.Exec("CREATE TABLE kept (id int)")
			must(t, err)
			must(t, s.Kill())
			if err := db.Ping(); err == nil {
				t.Error("it answers after it was killed")
			}
			must(t, s.Restart(t.Context()))
			_, err = db.Exec("INSERT INTO kept VALUES (1)")
			must(t, err)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
