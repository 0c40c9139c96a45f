// Fencing shows that a tick takes effect exactly once in a database, although its leader is deposed in the middle of
// the run. A job writes to SQLite, but its process is paused before it writes. Another process leads, and runs the
// tick again. Then the first one wakes and writes too.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/vfs/memdb"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	schema = `CREATE TABLE reports (tick TEXT NOT NULL, by TEXT NOT NULL)`
	insert = `INSERT INTO reports VALUES (?, ?)`
)

var errRepeated = errors.New("the tick must have exactly one effect")

func main() {
	protect := flag.Bool("fenced", true, "write with package fenced; without it, the tick takes effect twice")
	flag.Parse()
	if err := story(context.Background(), os.Stdout, *protect); err != nil {
		log.Fatal(err)
	}
}

// story returns errRepeated unless the tick has one effect.
func story(ctx context.Context, out io.Writer, protect bool) (err error) {
	db, err := sql.Open("sqlite3", "file:/reports?vfs=memdb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return err
	}
	nodes, err := redlocktest.Start(3)
	if err != nil {
		return err
	}
	defer nodes.Close()
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	var pods sync.WaitGroup
	defer func() { stop(); pods.Wait() }()
	lines := log.New(out, "", log.Lmicroseconds)
	ticks := make(chan string, 1) // the key of the tick of the story
	start := func(name string) (*pod, error) {
		p := &pod{name: name, process: nodes.Process(), db: db, protect: protect, lines: lines, ticks: ticks,
			turns: make(chan error, 3)}
		p.paused, p.wake = context.WithCancel(ctx)
		if p.fenced, err = fenced.New(db, fenced.SQLite, fenced.WithReplica(name)); err != nil {
			return nil, err
		}
		if err := p.fenced.Init(ctx); err != nil {
			return nil, err
		}
		pods.Go(func() { p.turns <- cmp.Or(p.serve(ctx), ctx.Err()) }) // ends with ctx
		return p, nil
	}
	if err := meet(start); err != nil {
		return err
	}
	var effects int
	if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM reports`).Scan(&effects); err != nil {
		return err
	}
	if effects != 1 {
		err = fmt.Errorf("%w: it has %d", errRepeated, effects)
	}
	return err
}

// meet pauses the first pod in its run until the second one has run the same tick.
func meet(start func(name string) (*pod, error)) error {
	first, err := start("pod-1")
	if err != nil {
		return err
	}
	if err := <-first.turns; err != nil {
		return err
	}
	first.say("is paused, and cut off from all nodes")
	first.process.Cut()

	second, err := start("pod-2") // it could also have started at the beginning
	if err != nil {
		return err
	}
	if err := <-second.turns; err != nil {
		return err
	}
	first.say("wakes")
	first.process.Heal()
	first.wake()
	if err := <-first.turns; !errors.Is(err, fenced.ErrFenced) {
		return err
	}
	return nil
}

// pod is one replica of a service.
type pod struct {
	name    string
	process *redlocktest.Process // its connections to the nodes
	db      *sql.DB
	fenced  *fenced.DB
	protect bool
	lines   *log.Logger
	ticks   chan string
	turns   chan error      // nil in the middle of the first pod's run, then the result of the run, then the result of serve
	paused  context.Context // done when the pod wakes
	wake    context.CancelFunc
}

// report is the Run function of the job.
func (p *pod) report(ctx context.Context, run scheduler.Run) error {
	if p.name == "pod-1" {
		p.ticks <- run.Key()
		p.turns <- nil
		<-p.paused.Done() // a paused process does not see that the run's context ends
		ctx = context.WithoutCancel(ctx)
	}
	write := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insert, run.Key(), p.name)
		return err
	}
	var err error
	if p.protect {
		err = fenced.Tx(ctx, p.fenced, fenced.Run(run), write)
	} else {
		err = p.plain(ctx, write)
	}
	if err != nil {
		p.say("writes with token %d: %v", run.Token, err)
	} else {
		p.say("writes with token %d, attempt %d: committed", run.Token, run.Attempt)
	}
	return err
}

// plain is the same transaction without a check.
func (p *pod) plain(ctx context.Context, write func(context.Context, *sql.Tx) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := write(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// once calls report only for the tick of the story, which is the first one of the first pod.
func (p *pod) once(report func() error, run scheduler.Run, begun *bool) error {
	if *begun {
		return nil
	}
	if p.name != "pod-1" {
		key := <-p.ticks
		if key != run.Key() {
			p.ticks <- key
			return nil
		}
	}
	*begun = true
	err := report()
	p.turns <- err
	return err
}

func (p *pod) say(format string, args ...any) { p.lines.Printf(p.name+"  "+format, args...) }

// serve does what a service does.
func (p *pod) serve(ctx context.Context) (err error) {
	locker, err := redlock.New(p.process.Clients(),
		redlock.WithTTL(2*time.Second), redlock.WithNodeTimeout(200*time.Millisecond))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Close(context.Background())) }()
	elector, err := election.New(locker, "reports", election.WithHooks(election.Hooks{
		Elected: func(term *election.Term) { p.say("leads, token %d", term.Token()) },
		Ended:   func(_ *election.Term, cause error) { p.say("no longer leads: %v", cause) },
	}))
	if err != nil {
		return err
	}
	jobs, err := scheduler.New(elector)
	if err != nil {
		return err
	}
	begun := false // without a lock, because runs of a job do not overlap
	err = jobs.Add(scheduler.Job{
		Name: "report", Spec: "@every 1s", AtLeastOnce: true,
		Run: func(ctx context.Context, run scheduler.Run) error {
			return p.once(func() error { return p.report(ctx, run) }, run, &begun)
		},
	})
	if err != nil {
		return err
	}
	return elector.Run(ctx)
}
