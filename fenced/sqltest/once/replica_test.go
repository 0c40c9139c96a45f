//go:build unix

package once_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/scheduler"
)

// settingsVariable holds settings, as JSON. It makes the test binary a replica.
const settingsVariable = "REDLOCKFX_TEST_ONCE"

const (
	ttl   = 2 * time.Second
	quiet = 100 // at least that many passages of steps come before a process plays a fault
)

// The places in a run at which a process stops or kills itself.
const (
	beforeFence  = "before the fence"
	beforeEffect = "before the effect"
	beforeCommit = "before the commit"
	beforeEnd    = "after the commit, before the end is recorded"
)

type settings struct {
	Nodes   []string
	Driver  string
	DSN     string
	Dialect fenced.Dialect
	Rounds  int
	Played  string // a folder with a file for each fault that was played
}

// faults returns the names of the faults of a round.
func faults(round int) (names []string) {
	for _, step := range []string{beforeFence, beforeEffect, beforeCommit, beforeEnd} {
		names = append(names, fault("stopped", step, round), fault("killed", step, round))
	}
	return names
}

func fault(what, step string, round int) string {
	return fmt.Sprintf("%s %s, round %d", what, step, round+1)
}

// replica is the service as a user would write it, plus the steps at which it kills or stops itself.
type replica struct {
	settings
	sql    *sql.DB
	db     *fenced.DB
	passed atomic.Int64 // steps since the start or the last fault
}

// beReplica returns with an error, if at all.
func beReplica(variable string) error {
	var r replica
	if err := json.Unmarshal([]byte(variable), &r.settings); err != nil {
		return err
	}
	var err error
	if r.sql, err = sql.Open(r.Driver, r.DSN); err != nil {
		return err
	}
	r.sql.SetMaxIdleConns(jobs)
	if r.db, err = fenced.New(r.sql, r.Dialect); err != nil {
		return err
	}
	return lead(r.Nodes, r.run)
}

// run is the job.
func (r *replica) run(ctx context.Context, run scheduler.Run) error {
	r.at(beforeFence)
	work := func(ctx context.Context, tx *sql.Tx) error {
		r.at(beforeEffect)
		insert := fmt.Sprintf(`INSERT INTO effects VALUES ('%s', %d)`, run.Job, run.Tick.Unix())
		if _, err := tx.ExecContext(ctx, insert); err != nil {
			return err
		}
		r.at(beforeCommit)
		return nil
	}
	err := fenced.Tx(ctx, r.db, fenced.Run(run), work)
	if errors.Is(err, fenced.ErrDone) {
		return nil
	}
	if err == nil {
		r.at(beforeEnd)
	}
	return err
}

// at plays a fault of this step that no process has played, unless this process has played one a moment ago.
func (r *replica) at(step string) {
	if r.passed.Add(1) < quiet {
		return
	}
	for round := range r.Rounds {
		switch {
		case r.first(fault("stopped", step, round)):
			r.passed.Store(0)
			r.stop()
			return
		case r.first(fault("killed", step, round)):
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it has come
		}
	}
}

// first reports whether this is the first process that plays a fault.
func (r *replica) first(name string) bool {
	file, err := os.OpenFile(filepath.Join(r.Played, name), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	_ = file.Close()
	return true
}

// stop stops this process for two leases, so that another one leads and runs jobs before it continues.
func (r *replica) stop() {
	wakes := exec.Command("sh", "-c", fmt.Sprintf("sleep %d; kill -CONT $PPID", int(2*ttl/time.Second)))
	if err := wakes.Start(); err != nil {
		panic(err)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	_ = wakes.Wait()
}
