package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	waitLimit = 30 * time.Second // for the next event
	settled   = time.Second      // ticks of the second in which a row goes may still run
)

// event is a run of a tenant's job.
type event struct {
	Pod, Tenant string
	Tick        time.Time
}

// history records and prints what happens.
type history struct {
	out *log.Logger

	mu      sync.Mutex // guards the fields below
	events  []event
	changed chan struct{} // closed with the next event
}

func newHistory(out *log.Logger) *history { return &history{out: out, changed: make(chan struct{})} }

func (h *history) add(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	close(h.changed)
	h.changed = make(chan struct{})
	h.out.Printf("   %s  %-8s for %s", e.Pod, e.Tenant, e.Tick.Local().Format(time.TimeOnly))
}

func (h *history) all() ([]event, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events), h.changed
}

// story is what the program does.
type story struct {
	out     *log.Logger
	history *history
	db      *sql.DB
	service *service
	pods    []*pod
	acts    int
}

// act prints the heading of the next part.
func (s *story) act(title string) {
	s.acts++
	s.out.Printf("\n%d. %s", s.acts, title)
}

// await waits until jobs of these tenants have run since it was called, each as often as it is named.
func (s *story) await(ctx context.Context, tenants ...string) error {
	seen, changed := s.history.all()
	n := len(seen)
	timeout := time.After(waitLimit)
	for {
		select {
		case <-changed:
		case <-timeout:
			return fmt.Errorf("no report of %q within %v", tenants, waitLimit)
		case <-ctx.Done():
			return errors.New("interrupted")
		}
		seen, changed = s.history.all()
		for ; n < len(seen); n++ {
			if i := slices.Index(tenants, seen[n].Tenant); i >= 0 {
				tenants = slices.Delete(tenants, i, i+1)
			}
		}
		if len(tenants) == 0 {
			return nil
		}
	}
}

// change changes rows, as the service would when a tenant asks for it.
func (s *story) change(ctx context.Context, statements ...string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// load makes the leader load the rows, and waits for that. A service that need not wait calls Refresh.
func (s *story) load(ctx context.Context) (scheduler.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	return s.service.TriggerAndWait(ctx, "tenants", scheduler.Because("a row has changed"))
}

// leader returns the process that ran the last job.
func (s *story) leader() string {
	seen, _ := s.history.all()
	return seen[len(seen)-1].Pod
}

func (s *story) kill(name string) error {
	for _, p := range s.pods {
		if p.name == name {
			p.kill()
			return nil
		}
	}
	return fmt.Errorf("no process is called %s", name)
}

// check returns an error for each promise that was broken. The row of initech was gone between two instants.
func (s *story) check(killed string, gone, back time.Time) error {
	var broken []error
	ran := make(map[event]string) // by whom
	pods := make(map[string]bool)
	seen, _ := s.history.all()
	for _, e := range seen {
		tick := event{Tenant: e.Tenant, Tick: e.Tick}
		if first, is := ran[tick]; is {
			broken = append(broken, fmt.Errorf("the tick %s of %s ran on %s and on %s", e.Tick, e.Tenant, first, e.Pod))
		}
		ran[tick], pods[e.Pod] = e.Pod, true
		if e.Tenant == "initech" && e.Tick.After(gone.Add(settled)) && e.Tick.Before(back.Add(-settled)) {
			broken = append(broken, fmt.Errorf("the tick %s of initech ran, which had no row then", e.Tick))
		}
	}
	if len(pods) != 2 || !pods[killed] {
		broken = append(broken, fmt.Errorf("%d processes have run jobs, want %s and another one", len(pods), killed))
	}
	s.out.Printf("\n%d ticks have run on %d processes in turn, and none of them twice.", len(ran), len(pods))
	return errors.Join(broken...)
}

// service is a process that never leads, such as the one that serves the tenants' settings.
type service struct {
	*scheduler.Scheduler
	locker *redlock.Locker
}

func watch(urls []string, db *sql.DB) (*service, error) {
	locker, err := redlock.Open(urls, lockOptions()...)
	if err != nil {
		return nil, err
	}
	s := &service{locker: locker}
	elector, err := election.New(locker, "reports")
	if err == nil {
		s.Scheduler, err = scheduler.New(elector)
	}
	if err == nil {
		err = s.AddSource(source(db, nil))
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *service) close() error { return s.locker.Close(context.Background()) }

// open makes the table, with three tenants.
func open(ctx context.Context, file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", "file:"+file+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE schedules (tenant TEXT PRIMARY KEY, spec TEXT NOT NULL);
		INSERT INTO schedules VALUES ('acme', '*/2 * * * * *'), ('globex', '* * * * * *'), ('initech', '*/3 * * * * *')`); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
