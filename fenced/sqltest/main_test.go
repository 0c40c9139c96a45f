//go:build unix

package sqltest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
)

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // the driver reports each connection that is lost
	goleak.VerifyTestMain(served{m})
}

// The servers that all tests use.
var postgres, mariadb *sqlproc.Server

// served starts the servers before the tests, and closes them afterwards.
type served struct{ *testing.M }

func (s served) Run() (code int) {
	check := func(err error) bool {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		return err == nil
	}
	var err error
	postgres, err = sqlproc.StartPostgreSQL(context.Background(), "fsync=off", "max_connections=200", "deadlock_timeout=50ms")
	if !check(err) {
		return code
	}
	defer func() { check(postgres.Close()) }()
	mariadb, err = sqlproc.StartMariaDB(context.Background(), "innodb-flush-log-at-trx-commit=0", "max-connections=200",
		"innodb-lock-wait-timeout=3")
	if !check(err) {
		return code
	}
	defer func() { check(mariadb.Close()) }()
	return s.M.Run()
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
