// Fencing shows how a resource refuses the late write of a leader that was deposed. A job writes to SQLite with
// its token; its process is paused between two writes; another one leads; then the first one wakes and writes.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"sync"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/vfs/memdb"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

const schema = `CREATE TABLE reports (id TEXT PRIMARY KEY, value TEXT NOT NULL, fence INTEGER NOT NULL);
	INSERT INTO reports VALUES ('daily', '', 0)`

// update is all that the resource has to do: the row keeps the largest token it has seen, and a smaller one
// affects no row. It is one statement, so that nothing comes between the look and the write. In PostgreSQL, with
// the fence a bigint:
//
//	const update = `UPDATE reports SET value = $1, fence = $2 WHERE id = $3 AND fence <= $2`
const update = `UPDATE reports SET value = ?, fence = ? WHERE id = ? AND fence <= ?`

var errRefused, errAccepted = errors.New("refused, 0 rows"), errors.New("the stale write was accepted")

func main() {
	show := flag.Bool("show", true, "a run shows the row its token first; without that, the stale write gets in")
	flag.Parse()
	if err := story(context.Background(), os.Stdout, *show); err != nil {
		log.Fatal(err)
	}
}

// story returns errAccepted if the first leader's late write got in.
func story(ctx context.Context, out io.Writer, show bool) (err error) {
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
	start := func(name string) *pod {
		p := &pod{name: name, process: nodes.Process(), db: db, show: show, lines: lines, turns: make(chan error, 3)}
		p.paused, p.wake = context.WithCancel(ctx)
		pods.Go(func() { p.turns <- cmp.Or(p.serve(ctx), ctx.Err()) }) // ends with ctx
		return p
	}

	first := start("pod-1")
	if err := <-first.turns; err != nil {
		return err
	}
	first.say("is paused, and cut off from all nodes")
	first.process.Cut()

	second := start("pod-2") // it might have waited all along
	if err := <-second.turns; err != nil {
		return err
	}
	first.say("wakes")
	first.process.Heal()
	first.wake()
	late := <-first.turns
	second.wake()
	if !errors.Is(late, errRefused) {
		return cmp.Or(late, errAccepted)
	}
	return <-second.turns
}

// pod is one replica of a service. Only its first run is part of the story.
type pod struct {
	name    string
	process *redlocktest.Process // its connections to the nodes
	db      *sql.DB
	show    bool
	lines   *log.Logger
	turns   chan error      // nil in the middle of the run, then the end of the run, then that of serve
	paused  context.Context // until wake
	wake    context.CancelFunc
}

// report is the job.
func (p *pod) report(_ context.Context, run scheduler.Run) error {
	// A new holder must show the resource its token before it relies on anything. From here on the row refuses
	// whoever led before; without that, a late write gets in until this run's own first write.
	if p.show {
		if err := p.write("begun", run.Token); err != nil {
			return err
		}
	}
	p.turns <- nil
	<-p.paused.Done() // whatever the run's context says
	return p.write("done", run.Token)
}

func (p *pod) write(what string, token uint64) error {
	result, err := p.db.Exec(update, what+" by "+p.name, token, "daily", token)
	if err != nil {
		return err
	}
	if rows, err := result.RowsAffected(); err != nil || rows == 0 {
		err = cmp.Or(err, errRefused)
		p.say("writes %q with token %d: %v", what, token, err)
		return err
	}
	p.say("writes %q with token %d: accepted", what, token)
	return nil
}

func (p *pod) say(format string, args ...any) { p.lines.Printf(p.name+"  "+format, args...) }

// serve is what a service does.
func (p *pod) serve(ctx context.Context) (err error) {
	locker, err := redlock.New(p.process.Clients(),
		redlock.WithTTL(2*time.Second), redlock.WithNodeTimeout(200*time.Millisecond))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Close(context.Background())) }()
	elector, err := election.New(locker, "reports", election.WithHooks(election.Hooks{
		Elected: func(term *election.Term) { p.say("leads, token %d", term.Token()) },
		Ended:   func(_ *election.Term, cause error) { p.say("leads no more: %v", cause) },
	}))
	if err != nil {
		return err
	}
	jobs, err := scheduler.New(elector)
	if err != nil {
		return err
	}
	var once sync.Once
	err = jobs.Add(scheduler.Job{
		Name: "report", Spec: "@every 1s",
		Run: func(ctx context.Context, run scheduler.Run) (err error) {
			once.Do(func() { err = p.report(ctx, run); p.turns <- err })
			return err
		},
	})
	if err != nil {
		return err
	}
	return elector.Run(ctx)
}
