// Tenants shows jobs that are rows of a database. Three processes of a service share a SQLite file in which each tenant has the
// schedule of its report. Rows change while the processes run, one has a typo, and the process that leads is killed.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const ttl = 2 * time.Second // how long the lease lasts; the default of 10 s would make the program slow

func main() {
	var err error
	if name := os.Getenv(podVariable); name != "" {
		err = bePod(name)
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, log.New(os.Stdout, "", 0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		os.Exit(1)
	}
}

// run starts the nodes, the database and the processes, plays the story, and ends them.
func run(ctx context.Context, out *log.Logger) (err error) {
	dir, err := os.MkdirTemp("", "tenants-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	nodes, err := startNodes()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nodes.close()) }()
	s := story{out: out, history: newHistory(out)}
	file := filepath.Join(dir, "tenants.db")
	if s.db, err = open(ctx, file); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	if s.service, err = watch(nodes.urls, s.db); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.service.close()) }()
	for _, name := range []string{"pod-1", "pod-2", "pod-3"} {
		p, err := startPod(name, nodes.urls, file, s.history)
		if err != nil {
			return err
		}
		defer p.kill() // does nothing if it has ended
		s.pods = append(s.pods, p)
	}
	return s.play(ctx)
}

// play changes rows, kills the leader, and checks what has run.
func (s *story) play(ctx context.Context) error {
	s.act("Each tenant has the schedule that its row says.")
	if err := s.await(ctx, "acme", "globex", "initech"); err != nil {
		return err
	}

	s.act("globex changes its schedule, initech leaves, and umbrella comes.")
	if err := s.change(ctx, `UPDATE schedules SET spec = '*/2 * * * * *' WHERE tenant = 'globex'`,
		`DELETE FROM schedules WHERE tenant = 'initech'`,
		`INSERT INTO schedules VALUES ('umbrella', '* * * * * *')`); err != nil {
		return err
	}
	gone := time.Now()
	if rec, err := s.load(ctx); err != nil || rec.State != scheduler.StateOK {
		return fmt.Errorf("the load: %s: %w", rec.Err, err)
	}
	if err := s.await(ctx, "umbrella", "globex", "globex"); err != nil {
		return err
	}

	s.act("acme makes a typo: the row is refused, and its job stays as it was.")
	if err := s.change(ctx, `UPDATE schedules SET spec = 'every minute' WHERE tenant = 'acme'`); err != nil {
		return err
	}
	rec, err := s.load(ctx)
	if err != nil || rec.State != scheduler.StateFailed {
		return fmt.Errorf("the load of a bad row: %s: %w", rec.State, err)
	}
	s.out.Printf("   %s", rec.Err)
	if err := s.await(ctx, "acme"); err != nil {
		return err
	}

	leader := s.leader()
	s.act(leader + " is killed. Meanwhile initech comes back, and acme mends its row.")
	if err := s.kill(leader); err != nil {
		return err
	}
	if err := s.change(ctx, `INSERT INTO schedules VALUES ('initech', '* * * * * *')`,
		`UPDATE schedules SET spec = '*/2 * * * * *' WHERE tenant = 'acme'`); err != nil {
		return err
	}
	back := time.Now()
	if err := s.await(ctx, "initech", "acme", "globex", "umbrella"); err != nil {
		return err
	}
	for _, p := range s.pods {
		if err := p.stop(); err != nil {
			return err
		}
	}
	return s.check(leader, gone, back)
}
