//go:build unix

package once_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/replicas"
)

var ticks = flag.Int("once.ticks", 1000, "judge at least that many ticks on PostgreSQL, and a third of them on the others")

const (
	jobs       = 20
	nodes      = 3
	cutFor     = 1500 * time.Millisecond
	delayedFor = 300 * time.Millisecond
)

func TestOnce_PostgreSQL(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fenced.PostgreSQL, false)
	h.fail(*ticks)
	h.wantExactlyOne(*ticks)
}

func TestOnce_MariaDB(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fenced.MySQL, false)
	h.fail(*ticks / 3)
	h.wantExactlyOne(*ticks / 3)
}

func TestOnce_SQLite(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fenced.SQLite, false)
	h.fail(*ticks / 3)
	h.wantExactlyOne(*ticks / 3)
}

// Without it the others prove nothing.
func TestOnce_NotWithoutFenced(t *testing.T) {
	t.Parallel()
	h := newHarness(t, fenced.PostgreSQL, true)
	h.fail(*ticks / 3)
	if twice := h.repeated(); twice == 0 {
		t.Error("no tick has two effects")
	} else {
		t.Logf("%d ticks have more than one effect", twice)
	}
}

// harness is a service, its nodes and its database.
type harness struct {
	t       *testing.T
	service *service
	db      *sql.DB
	proxy   *sqlproc.Proxy // nil: SQLite
}

func newHarness(t *testing.T, dialect fenced.Dialect, plain bool) *harness {
	t.Helper()
	h := &harness{t: t}
	s := settings{Dialect: dialect, Jobs: jobs, Plain: plain}
	direct := h.database(&s)
	var err error
	h.db, err = sql.Open(s.Driver, direct)
	must(t, err)
	t.Cleanup(func() { _ = h.db.Close() })
	db, err := fenced.New(h.db, dialect)
	must(t, err, db.Init(t.Context()))
	_, err = h.db.Exec("CREATE TABLE effects (job VARCHAR(100) NOT NULL, tick BIGINT NOT NULL)")
	must(t, err)
	cluster, err := redisproc.Start(t.Context(), nodes)
	must(t, err)
	t.Cleanup(func() { must(t, cluster.Close()) })
	s.Nodes = cluster.Addrs()
	h.service = startService(t, s)
	return h
}

// database starts one that ends idle transactions, sets how replicas reach it, and returns the data source name for us.
func (h *harness) database(s *settings) (direct string) {
	h.t.Helper()
	var server *sqlproc.Server
	var err error
	switch s.Dialect {
	case fenced.SQLite:
		s.Driver = "sqlite"
		s.DSN = "file:" + filepath.Join(h.t.TempDir(), "db") + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
		return s.DSN
	case fenced.PostgreSQL:
		server, err = sqlproc.StartPostgreSQL(context.Background(), "fsync=off", "max_connections=200",
			"idle_in_transaction_session_timeout=1s")
	default:
		server, err = sqlproc.StartMariaDB(context.Background(), "innodb-flush-log-at-trx-commit=0", "max-connections=200",
			"idle-transaction-timeout=1", "innodb-lock-wait-timeout=3")
	}
	must(h.t, err)
	h.t.Cleanup(func() { must(h.t, server.Close()) })
	h.proxy, err = sqlproc.NewProxy(server.Addr())
	must(h.t, err)
	h.t.Cleanup(func() { must(h.t, h.proxy.Close()) })
	s.Driver, s.DSN = server.Driver, server.DSN(h.proxy.Addr())
	return server.DSN(server.Addr())
}

// fail plays all faults, in turn, until there are that many ticks, and each fault was played.
func (h *harness) fail(ticks int) {
	h.t.Helper()
	var faults []func() bool
	var names []string
	add := func(name string, fault func() bool) { names, faults = append(names, name), append(faults, fault) }
	for _, at := range allSteps {
		add("killed "+string(at), func() bool { return h.service.kill(at) })
		add("stopped "+string(at), func() bool { return h.service.stop(at) })
	}
	if h.proxy != nil {
		add("cut off", h.cut)
		for _, loss := range []sqlproc.Loss{sqlproc.Answer, sqlproc.Request, sqlproc.Delayed} {
			add(fmt.Sprintf("loss %d of a commit", loss), func() bool { return h.lose(loss) })
		}
	}
	played := make([]int, len(faults))
	for turn := 0; turn < len(faults) || h.count() < ticks; {
		n := turn % len(faults)
		if faults[n]() { // otherwise another leader came in between
			played[n]++
			turn++
		}
	}
	for n, times := range played {
		h.t.Logf("%-55s %d times", names[n], times)
	}
}

func (h *harness) cut() bool {
	h.proxy.Cut()
	<-time.After(cutFor)
	h.proxy.Heal()
	return true
}

func (h *harness) lose(loss sqlproc.Loss) bool {
	h.t.Helper()
	before := h.proxy.Lost()
	h.proxy.LoseNext(loss)
	replicas.Await(h.t, "a commit is lost", func() bool { return h.proxy.Lost() > before })
	if loss == sqlproc.Delayed {
		<-time.After(delayedFor)
		h.proxy.Deliver()
	}
	return true
}
