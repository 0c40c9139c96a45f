//go:build unix

package once_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

var rounds = flag.Int("once.rounds", 1, "play every fault that often")

const (
	jobs       = 20
	minTicks   = 5 * jobs
	nodes      = 3
	cutFor     = 1500 * time.Millisecond
	delayedFor = 300 * time.Millisecond
)

func TestOnce_PostgreSQL(t *testing.T) { wantExactlyOne(t, fenced.PostgreSQL) }
func TestOnce_MariaDB(t *testing.T)    { wantExactlyOne(t, fenced.MySQL) }
func TestOnce_SQLite(t *testing.T)     { wantExactlyOne(t, fenced.SQLite) }

func wantExactlyOne(t *testing.T, dialect fenced.Dialect) {
	ticks, missing, repeated := play(t, dialect)
	if missing > 0 || len(repeated) > 0 || ticks < minTicks {
		t.Errorf("of %d ticks %d have no effect, and %d have more than one: %v", ticks, missing, len(repeated), repeated)
	}
	t.Logf("%d ticks have exactly one effect each", ticks)
}

// play runs a service, plays all faults, and judges the ticks.
func play(t *testing.T, dialect fenced.Dialect) (ticks, missing int, repeated []tick) {
	t.Parallel()
	s := settings{Dialect: dialect, Rounds: *rounds, Played: t.TempDir()}
	direct, proxy := database(t, &s)
	conns, err := sql.Open(s.Driver, direct)
	must(t, err)
	t.Cleanup(func() { _ = conns.Close() })
	db, err := fenced.New(conns, dialect)
	must(t, err, db.Init(t.Context()))
	_, err = conns.ExecContext(t.Context(), "CREATE TABLE effects (job VARCHAR(100) NOT NULL, tick BIGINT NOT NULL)")
	must(t, err)
	cluster, err := redisproc.Start(t.Context(), nodes)
	must(t, err)
	t.Cleanup(func() { must(t, cluster.Close()) })
	s.Nodes = cluster.Addrs()
	variable, err := json.Marshal(s)
	must(t, err)
	serve(t, 3, settingsVariable+"="+string(variable))

	for round := range *rounds {
		if proxy != nil {
			loseCommits(t, proxy)
		}
		for _, name := range faults(round) {
			bubble.Await(t, name, 2*time.Minute, func() bool {
				_, err := os.Stat(filepath.Join(s.Played, name))
				return err == nil
			})
		}
	}
	until := time.Now().Unix()
	var counts map[tick]int
	bubble.Await(t, "all jobs have caught up", 2*time.Minute, func() bool {
		var caughtUp int
		counts, caughtUp = effects(t, conns, until)
		return caughtUp == jobs
	})
	return judge(counts, until)
}

// judge returns how many ticks there are from the first one of each job up to an instant, how many of them had no
// effect, and those that had more than one.
func judge(counts map[tick]int, until int64) (ticks, missing int, repeated []tick) {
	first := map[string]int64{}
	for key, n := range counts {
		if seen, ok := first[key.job]; !ok || key.at < seen {
			first[key.job] = key.at
		}
		if n > 1 {
			repeated = append(repeated, key)
		}
	}
	for job, at := range first {
		for ; at <= until; at++ {
			ticks++
			if counts[tick{job, at}] == 0 {
				missing++
			}
		}
	}
	return ticks, missing, repeated
}

// database starts one that ends idle transactions. It sets how replicas reach it, and returns the data source name for
// us and, except for SQLite, the proxy before it.
func database(t *testing.T, s *settings) (direct string, proxy *sqlproc.Proxy) {
	t.Helper()
	var server *sqlproc.Server
	var err error
	switch s.Dialect {
	case fenced.SQLite:
		s.Driver = "sqlite"
		s.DSN = "file:" + filepath.Join(t.TempDir(), "db") + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
		return s.DSN, nil
	case fenced.PostgreSQL:
		server, err = sqlproc.StartPostgreSQL(context.Background(), "fsync=off", "max_connections=200",
			"idle_in_transaction_session_timeout=1s")
	default:
		server, err = sqlproc.StartMariaDB(context.Background(), "innodb-flush-log-at-trx-commit=0", "max-connections=200",
			"idle-transaction-timeout=1", "innodb-lock-wait-timeout=3")
	}
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	proxy, err = sqlproc.NewProxy(server.Addr())
	must(t, err)
	t.Cleanup(func() { must(t, proxy.Close()) })
	s.Driver, s.DSN = server.Driver, server.DSN(proxy.Addr())
	return server.DSN(server.Addr()), proxy
}

// loseCommits loses a COMMIT in each way, and cuts the database off for a while.
func loseCommits(t *testing.T, proxy *sqlproc.Proxy) {
	t.Helper()
	for _, loss := range []sqlproc.Loss{sqlproc.Answer, sqlproc.Request, sqlproc.Delayed} {
		before := proxy.Lost()
		proxy.LoseNext(loss)
		bubble.Await(t, fmt.Sprintf("loss %d of a commit", loss), 2*time.Minute, func() bool { return proxy.Lost() > before })
		if loss == sqlproc.Delayed {
			<-time.After(delayedFor)
			proxy.Deliver()
		}
	}
	proxy.Cut()
	<-time.After(cutFor)
	proxy.Heal()
}

// tick is one of a job that ticks once a second.
type tick struct {
	job string
	at  int64 // Unix time, in seconds
}

// effects returns how many effects each tick has, and how many jobs have come to an instant.
func effects(t *testing.T, conns *sql.DB, until int64) (counts map[tick]int, caughtUp int) {
	t.Helper()
	rows, err := conns.QueryContext(t.Context(), "SELECT job, tick, COUNT(*) FROM effects GROUP BY job, tick")
	must(t, err)
	defer func() { must(t, rows.Close()) }()
	counts = map[tick]int{}
	for rows.Next() {
		var key tick
		var n int
		must(t, rows.Scan(&key.job, &key.at, &n))
		counts[key] = n
		if key.at == until {
			caughtUp++
		}
	}
	must(t, rows.Err())
	return counts, caughtUp
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
