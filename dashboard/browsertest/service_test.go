package browsertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestMain(m *testing.M) {
	// The tests mostly wait, so run more of them at a time than a small machine has processors.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testmain.Run(tests{m})
}

// The browser keeps the processors busy for a while, so nodes have a second to answer.
const (
	ttl         = 5 * time.Second
	nodeTimeout = time.Second
)

// service is three replicas, each with its page.
type service struct {
	t        *testing.T
	nodes    *redlocktest.Nodes
	replicas []*replica
}

type replica struct {
	*redlocktest.Process
	elector   *election.Elector
	scheduler *scheduler.Scheduler
	url       string // of the page
}

// start runs the replicas on five nodes until the end of the test.
func start(t *testing.T, jobs ...scheduler.Job) *service {
	t.Helper()
	s := &service{t: t, nodes: redlocktest.New(t, 5, redlock.WithTTL(ttl), redlock.WithNodeTimeout(nodeTimeout))}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i := range 3 {
		r := s.replica(fmt.Sprint("pod-", i+1), jobs)
		s.replicas = append(s.replicas, r)
		running.Go(func() { // ends with ctx
			if err := r.elector.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return s
}

func (s *service) replica(name string, jobs []scheduler.Job) *replica {
	s.t.Helper()
	r := &replica{Process: s.nodes.Process()}
	var err error
	if r.elector, err = election.New(r.Locker(), "billing", election.WithIdentity(name, ""), election.WithHooks(termlog.Hooks())); err != nil {
		s.t.Fatal(err)
	}
	if r.scheduler, err = scheduler.New(r.elector); err != nil {
		s.t.Fatal(err)
	}
	want.NoError(s.t, r.scheduler.Add(jobs...))
	return r
}

// serve starts the page of each replica; allowed decides who may act.
func (s *service) serve(allowed func(*http.Request) (string, error), more ...dashboard.Option) *service {
	for _, r := range s.replicas {
		open, end := context.WithCancel(context.Background())
		options := append([]dashboard.Option{dashboard.Until(open)}, more...)
		if allowed != nil {
			options = append(options, dashboard.AllowActions(allowed))
		}
		server := httptest.NewServer(http.StripPrefix("/ops", dashboard.Handler(r.elector, r.scheduler, options...)))
		s.t.Cleanup(func() {
			end()
			server.Close()
		})
		r.url = server.URL + "/ops/"
	}
	return s
}

// leader waits for a replica that leads, and returns it.
func (s *service) leader() *replica {
	s.t.Helper()
	for range 3000 {
		for _, r := range s.replicas {
			if r.elector.IsLeader() {
				return r
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatal("nobody leads after 30 s")
	return nil
}

// follower returns a replica that does not lead.
func (s *service) follower() *replica { return s.followers()[0] }

// followers returns the replicas that do not lead.
func (s *service) followers() (all []*replica) {
	leader := s.leader()
	for _, r := range s.replicas {
		if r != leader {
			all = append(all, r)
		}
	}
	return all
}

// with returns the service for a subtest.
func (s *service) with(t *testing.T) *service {
	sub := *s
	sub.t = t
	return &sub
}

// status returns what the nodes know about a job.
func (s *service) status(job string) scheduler.Status {
	s.t.Helper()
	all, err := s.replicas[0].scheduler.Jobs(s.t.Context())
	want.NoError(s.t, err)
	for _, one := range all {
		if one.Job == job {
			return one
		}
	}
	s.t.Fatalf("the nodes know of no job %q", job)
	return scheduler.Status{}
}

// jobs returns jobs of all kinds, which are due every few seconds or minutes.
func jobs(unit time.Duration) []scheduler.Job {
	every := func(n int) string {
		if unit == time.Second {
			return fmt.Sprintf("*/%d * * * * *", n)
		}
		return fmt.Sprintf("*/%d * * * *", n)
	}
	brief := func(context.Context, scheduler.Run) error {
		time.Sleep(20 * time.Millisecond)
		return nil
	}
	return []scheduler.Job{
		{Name: "heartbeat", Spec: "@every " + unit.String(), Run: brief},
		{Name: "exchange rates", Spec: every(3), Run: func(_ context.Context, run scheduler.Run) error {
			if run.Tick.Unix()/int64(unit/time.Second)%2 == 1 {
				return errors.New("GET https://rates.example/latest: 503 <b>Service Unavailable</b>")
			}
			return nil
		}},
		{Name: "import <catalogue>", Spec: every(2), Run: func(ctx context.Context, _ scheduler.Run) error {
			select {
			case <-time.After(5 * unit):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}},
		{Name: "invoices", Spec: "CRON_TZ=Europe/Berlin 30 2 * * *", Run: brief},
		{Name: "monthly statement", Spec: "0 6 1 * *", Run: brief},
	}
}
