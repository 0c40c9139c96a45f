//go:build unix

package sqltest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
)

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // the driver reports each connection that is lost
	goleak.VerifyTestMain(closing{m})
}

// closing stops the servers after the tests.
type closing struct{ *testing.M }

func (c closing) Run() int {
	code := c.M.Run()
	for _, s := range []*shared{&postgres, &mariadb} {
		if err := s.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// shared is a server that all tests use, and the first of them starts.
type shared struct {
	start func(context.Context, ...string) (*sqlproc.Server, error)
	args  []string

	once   sync.Once
	server *sqlproc.Server
	err    error
}

var (
	postgres = shared{start: sqlproc.StartPostgreSQL, args: []string{
		"fsync=off", "max_connections=200", "deadlock_timeout=50ms"}}
	mariadb = shared{start: sqlproc.StartMariaDB, args: []string{"innodb-flush-log-at-trx-commit=0", "max-connections=200", "innodb-lock-wait-timeout=3"}}
)

func (s *shared) get(t *testing.T) *sqlproc.Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = s.start(context.Background(), s.args...) }) // it outlives the test
	must(t, s.err)
	return s.server
}

func (s *shared) close() error {
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
