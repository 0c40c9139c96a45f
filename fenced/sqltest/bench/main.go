//go:build unix

// Bench measures what a fenced transaction costs compared with a transaction with one upsert, on a PostgreSQL that it
// starts with its default settings. It exits with status 1 if a requirement is missed.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
)

const (
	maxRatio  = 1.6 // of the time of a plain transaction
	maxGrowth = 1.2 // with many keys
	rounds    = 10
)

var (
	rows     = flag.Int("rows", 10_000_000, "keys in the large table")
	calls    = flag.Int("calls", 400, "transactions of each kind in a round")
	settings = flag.String("settings", "", "settings of PostgreSQL, as in fsync=off,jit=off")
)

func main() {
	flag.Parse()
	missed, err := run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if missed {
		os.Exit(1)
	}
}

func run(ctx context.Context) (missed bool, err error) {
	server, err := sqlproc.StartPostgreSQL(ctx, strings.FieldsFunc(*settings, func(r rune) bool { return r == ',' })...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	db, err := sql.Open(server.Driver, server.DSN(server.Addr()))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxIdleConns(16)
	b := &bench{db: db}
	if err := b.prepare(ctx); err != nil {
		return false, err
	}
	fmt.Printf("%-44s %9s %9s %7s\n", "p50 of a transaction, ms", "fenced", "beside", "ratio")
	for _, goroutines := range []int{1, 16} {
		for _, resources := range []int{1, 16} {
			name := fmt.Sprintf("%d goroutines, %d jobs, beside one upsert", goroutines, resources)
			b.compare(ctx, name, maxRatio, goroutines, b.tx(b.small, resources), b.upsert)
		}
	}
	for _, goroutines := range []int{1, 16} {
		name := fmt.Sprintf("%d goroutines, %d keys, beside few", goroutines, *rows)
		b.compare(ctx, name, maxGrowth, goroutines, b.tx(b.large, 1), b.tx(b.small, 1))
	}
	return b.missed, b.err
}

type bench struct {
	db           *sql.DB
	small, large *fenced.DB
	missed       bool
	err          error

	mu sync.Mutex // guards next
	n  int64
}

func (b *bench) next() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return b.n
}

// prepare makes the tables. The large one has the keys of one job, every second back from now.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.small, err = b.open(ctx, "small"); err != nil {
		return err
	}
	if b.large, err = b.open(ctx, "large"); err != nil {
		return err
	}
	for _, statement := range []string{
		`CREATE TABLE plain (id bigint PRIMARY KEY, n bigint NOT NULL)`,
		fmt.Sprintf(`INSERT INTO keys_large SELECT 'job 0', s * 1000000, 'job 0@' || s * 1000, 1, '6T4E7V2JHCW5Q2ZWNY3DBL5CPA', '',
			'host-4711-ABCDEF', s * 1000000 FROM generate_series(extract(epoch FROM now())::bigint - %d,
			extract(epoch FROM now())::bigint) s`, *rows),
		`VACUUM ANALYZE`, `CHECKPOINT`,
	} {
		if _, err := b.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) open(ctx context.Context, name string) (*fenced.DB, error) {
	db, err := fenced.New(b.db, fenced.PostgreSQL, fenced.WithTables("fences_"+name, "keys_"+name))
	if err != nil {
		return nil, err
	}
	return db, db.Init(ctx)
}

// tx returns a fenced transaction that does nothing.
func (b *bench) tx(db *fenced.DB, resources int) func(context.Context) error {
	start := time.Now()
	return func(ctx context.Context) error {
		n := b.next()
		job, at := fmt.Sprintf("job %d", n%int64(resources)), start.Add(time.Duration(n)*time.Second)
		h := fenced.Holder{Resource: job, Token: 1, Key: fmt.Sprintf("%s@%d", job, at.UnixMilli()), Tick: at}
		return fenced.Tx(ctx, db, h, func(context.Context, *sql.Tx) error { return nil })
	}
}

// upsert is what a user does without this library.
func (b *bench) upsert(ctx context.Context) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	_, err = tx.ExecContext(ctx, `INSERT INTO plain AS p VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET n = p.n + 1`, b.next()%10_000)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// compare lets both take turns, and prints the medians with the median of the rounds' ratios.
func (b *bench) compare(ctx context.Context, name string, limit float64, goroutines int, of, beside func(context.Context) error) {
	var ours, theirs, ratios []float64
	for round := range rounds + 1 {
		both := []func(context.Context) error{of, beside}
		if round%2 == 1 {
			slices.Reverse(both)
		}
		took := []float64{b.measure(ctx, goroutines, both[0]), b.measure(ctx, goroutines, both[1])}
		if round%2 == 1 {
			slices.Reverse(took)
		}
		if round == 0 {
			continue // it fills the caches
		}
		ours, theirs, ratios = append(ours, took[0]), append(theirs, took[1]), append(ratios, took[0]/took[1])
	}
	verdict := "ok"
	if median(ratios) > limit {
		verdict, b.missed = "MISSED", true
	}
	fmt.Printf("%-44s %9.3f %9.3f %7.2f  at most %.1f: %s\n", name, median(ours), median(theirs), median(ratios), limit, verdict)
}

// measure returns the median of the times, in milliseconds.
func (b *bench) measure(ctx context.Context, goroutines int, do func(context.Context) error) float64 {
	times, errs := make([][]float64, goroutines), make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() { // waited for below
			for range *calls / goroutines {
				start := time.Now()
				errs[g] = errors.Join(errs[g], do(ctx))
				times[g] = append(times[g], time.Since(start).Seconds()*1000)
			}
		})
	}
	all.Wait()
	b.err = errors.Join(append(errs, b.err)...)
	return median(slices.Concat(times...))
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
