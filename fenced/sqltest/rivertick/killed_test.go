//go:build unix

package rivertick_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"

	"github.com/redlockfx/redlockfx/adapters/rivertick"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/replicas"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	settingsVariable = "REDLOCKFX_TEST_RIVERTICK" // settings as JSON: the test binary is a replica
	jobs             = 10
	kills            = 4
	minTicks         = 120
	ttl              = 3 * time.Second
)

type settings struct {
	Nodes  []string
	DSN    string
	Plain  bool   // without package rivertick
	Calm   string // unless there is this file
	KillAt int    // the process kills itself at that run, before the commit or after it
	Before bool
}

func TestJob_InsertsOnceThoughLeadersAreKilled(t *testing.T) {
	ticks, missing, repeated := play(t, false)
	if missing > 0 || len(repeated) > 0 || ticks < minTicks {
		t.Errorf("of %d ticks %d have no job, and %d have more than one: %v", ticks, missing, len(repeated), repeated)
	}
	t.Logf("%d ticks have one job each, %d leaders or more were killed", ticks, kills)
}

// Without it the other one proves nothing.
func TestJob_ComparedWithPlainInserts(t *testing.T) {
	ticks, _, repeated := play(t, true)
	if len(repeated) == 0 {
		t.Errorf("none of %d ticks has two jobs", ticks)
	}
	t.Logf("%d of %d ticks have more than one job", len(repeated), ticks)
}

// play runs a service whose leaders kill themselves, and judges the ticks.
func play(t *testing.T, plain bool) (ticks, missing int, repeated []string) {
	t.Helper()
	d := newDatabase(t)
	nodes, err := redisproc.Start(t.Context(), 3)
	must(t, err)
	t.Cleanup(func() { must(t, nodes.Close()) })
	calm := filepath.Join(t.TempDir(), "calm")
	service := replicas.Start(t, 3, func(start int) string {
		text, err := json.Marshal(settings{
			Nodes: nodes.Addrs(), DSN: d.dsn(d.addr), Plain: plain, Calm: calm, KillAt: 8 + rand.IntN(10), Before: start%2 == 0,
		})
		if err != nil {
			t.Error(err)
		}
		return settingsVariable + "=" + string(text)
	})
	replicas.Await(t, "the leaders are killed, and there are enough ticks", func() bool {
		return service.Ended() >= kills && len(d.jobs()) >= minTicks
	})
	must(t, os.WriteFile(calm, nil, 0o600))
	until := time.Now().Unix()
	replicas.Await(t, "all jobs have caught up", func() bool {
		var caughtUp int
		must(t, d.sql.QueryRowContext(t.Context(),
			`SELECT count(*) FROM (SELECT split_part(key, '@', 1) FROM (
			SELECT coalesce(metadata->>'redlockfx_key', metadata->>'plain') AS key FROM river_job) k
			GROUP BY 1 HAVING max(split_part(key, '@', 2)::bigint) >= $1) t`, until*1000).Scan(&caughtUp))
		return caughtUp == jobs
	})
	ticks, missing, repeated, err = replicas.Judge(d.jobs(), until)
	must(t, err)
	return ticks, missing, repeated
}

// replica is a service as a user would write it, that kills itself.
type replica struct {
	settings
	runs atomic.Int64
}

// beReplica returns with an error, if at all.
func beReplica(variable string) error {
	var r replica
	if err := json.Unmarshal([]byte(variable), &r.settings); err != nil {
		return err
	}
	conns, err := sql.Open("pgx", r.DSN)
	if err != nil {
		return err
	}
	db, err := fenced.New(conns, fenced.PostgreSQL)
	if err != nil {
		return err
	}
	client, err := river.NewClient(riverdatabasesql.New(conns), &river.Config{})
	if err != nil {
		return err
	}
	args := func(_ context.Context, run scheduler.Run) (river.JobArgs, error) {
		if r.Before {
			r.dieInTime()
		}
		return report{run.Tick}, nil
	}
	insert, err := rivertick.Job(db, client, args, nil)
	if err != nil {
		return err
	}
	if r.Plain {
		insert = func(ctx context.Context, run scheduler.Run) error {
			metadata := fmt.Appendf(nil, `{"plain":%q}`, run.Key())
			_, err := client.Insert(ctx, report{run.Tick}, &river.InsertOpts{Metadata: metadata})
			return err
		}
	}
	return replicas.Lead(r.Nodes, ttl, jobs, func(ctx context.Context, run scheduler.Run) error {
		err := insert(ctx, run)
		if err == nil && (r.Plain || !r.Before) {
			r.dieInTime() // before the end of the run is recorded
		}
		return err
	})
}

func (r *replica) dieInTime() {
	if _, err := os.Stat(r.Calm); err == nil || r.runs.Add(1) != int64(r.KillAt) {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // until it has come
}
