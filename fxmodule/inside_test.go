package redlockfx_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/caller"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// service is an application with each kind of function that the library calls. One of them calls a method of the library, once.
type service struct {
	*fxtest.App
	links     *nodetest.Links
	locker    *redlock.Locker
	elector   *election.Elector
	scheduler *scheduler.Scheduler
	term      atomic.Pointer[election.Term] // the newest

	in     string // the function that calls the method
	method method
	called atomic.Bool
	ended  chan string // receives the outcome
}

type method func(ctx context.Context, s *service) error

// methods are those that wait, by the rows of the table in docs/guarantees.md.
var methods = map[string]method{
	"`Locker.Acquire`, `TryAcquire`": func(ctx context.Context, s *service) error {
		try, tried := s.locker.TryAcquire(ctx, "lock")
		if tried == nil {
			tried = try.Release(ctx)
		}
		lease, err := s.locker.Acquire(ctx, "lock")
		if err == nil {
			err = lease.Release(ctx)
		}
		return errors.Join(tried, err)
	},
	"`Locker.Do`": func(ctx context.Context, s *service) error {
		return s.locker.Do(ctx, "lock", func(context.Context, *redlock.Lease) error { return nil })
	},
	"`Locker.Close`":     func(ctx context.Context, s *service) error { return s.locker.Close(ctx) },
	"`Elector.Run`":      func(ctx context.Context, s *service) error { return s.elector.Run(ctx) },
	"`Elector.Shutdown`": func(ctx context.Context, s *service) error { return s.elector.Shutdown(ctx) },
	"`Term.Do`": func(ctx context.Context, s *service) error {
		if s.term.Load() == nil { // in the first attempt
			return nil
		}
		return s.term.Load().Do(ctx, func(context.Context) error { return nil })
	},
	"`Term.Resign`, and to wait for the end of `Term.Context`": func(_ context.Context, s *service) error {
		if s.term.Load() == nil {
			return nil
		}
		s.term.Load().Resign(nil)
		<-s.term.Load().Context().Done()
		return nil
	},
	"`Scheduler.Shutdown`": func(ctx context.Context, s *service) error { return s.scheduler.Shutdown(ctx) },
	"`Scheduler.TriggerAndWait` of this job": func(ctx context.Context, s *service) error {
		_, err := s.scheduler.TriggerAndWait(ctx, "job")
		return err
	},
	"`Scheduler.TriggerAndWait` of another job": func(ctx context.Context, s *service) error {
		_, err := s.scheduler.TriggerAndWait(ctx, "other")
		return err
	},
	"`Scheduler.Remove`, `Forget`": func(ctx context.Context, s *service) error {
		return errors.Join(s.scheduler.Remove("other"), s.scheduler.Forget(ctx, "other"))
	},
	"`fx.App.Stop`": func(ctx context.Context, s *service) error { return s.App.App.Stop(ctx) },
}

// functions are those that call, by the columns of the table. The test has some of them called once this process leads.
var functions = map[string]map[string]func(s *service){
	"a run, middleware": {"run": nil, "middleware": nil},
	"a callback, `Term.Do`": {"callback": nil, "hook with Term.Context": nil, "Term.Do": func(s *service) {
		_ = s.term.Load().Do(context.Background(), func(ctx context.Context) error { s.at("Term.Do", ctx); return nil })
	}},
	"a hook, the logger, the panic handler": {
		// On the goroutine of Run.
		"hook Attempt": nil, "hook Elected": nil, "hook Renewed": nil, "logger: this replica leads": nil, "panic handler": nil,
		"hook Ended": func(s *service) { s.term.Load().Resign(nil) },
		// On the goroutine of a run, on that of the ticks.
		"hook Started": nil, "logger: run failed": nil,
		"hook Finished": nil, "logger: change applied": func(s *service) {
			for s.scheduler.Trigger(context.Background(), "job") != nil && s.elector.IsLeader() { // the job is not stored yet
				time.Sleep(time.Second)
			}
		},
	},
	"a function of `OnNode`, `OnNewLeader` or `Extension`": {
		"OnNode": func(s *service) { s.links.Cut(0) },
		"OnNewLeader": func(s *service) {
			s.elector.OnNewLeader(func(election.Leader) { s.at("OnNewLeader", context.Background()) })
		},
		"Extension": func(s *service) {
			_, _ = s.locker.Acquire(context.Background(), "extended", redlock.WithAutoExtend(redlock.Extension{
				Extended: func(int, time.Duration, error) { s.at("Extension", context.Background()) },
			}))
		},
	},
	"a `Do` of the same lock": {
		"Do": func(s *service) {
			_ = s.locker.Do(context.Background(), "lock", func(ctx context.Context, _ *redlock.Lease) error { s.at("Do", ctx); return nil })
		},
		"context of a lease": func(s *service) {
			if lease, err := s.locker.Acquire(context.Background(), "lock", redlock.WithAutoExtend(redlock.Extension{})); err == nil {
				s.at("context of a lease", lease.Context())
				_ = lease.Release(context.Background())
			}
		},
	},
}

const waitingTTL, waitingDrain = 10 * time.Second, 30 * time.Second

// at is called in each function. It calls the method if it is in the right one.
func (s *service) at(function string, ctx context.Context) {
	if function != s.in || s.called.Swap(true) {
		return
	}
	began := time.Now()
	err := s.method(ctx, s)
	took := time.Since(began)
	isError := errors.Is(err, caller.ErrSelf) || errors.Is(err, election.ErrRunning) ||
		errors.Is(err, context.Canceled) // fx prefers that error if a run stops the application, which ends the run's context
	switch {
	case isError && took < time.Second:
		s.ended <- "error"
	case !isError && took < waitingTTL/2:
		s.ended <- "works"
	case took <= 2*waitingDrain+waitingTTL:
		s.ended <- "late"
	default:
		s.ended <- "waits for itself, for " + took.String()
	}
}

func (s *service) functions() fx.Option {
	in := func(function string) { s.at(function, context.Background()) }
	core, _ := observer.New(zap.InfoLevel)
	log := zap.New(core, zap.Hooks(func(e zapcore.Entry) error { in("logger: " + e.Message); return nil }))
	var panicked atomic.Bool
	return fx.Options(
		fx.Supply(log),
		fx.Populate(&s.locker, &s.elector, &s.scheduler),
		redlockfx.Job(func() []scheduler.Job {
			return []scheduler.Job{
				{Name: "job", Spec: "* * * * * *", Overlap: scheduler.Queue, Run: func(ctx context.Context, _ scheduler.Run) error {
					s.at("run", ctx)
					return errors.New("failed")
				}},
				{Name: "other", Spec: "@yearly", Run: func(context.Context, scheduler.Run) error { return nil }},
			}
		}),
		redlockfx.Options(func() []scheduler.Option {
			return []scheduler.Option{scheduler.WithMiddleware(s.middleware)}
		}),
		redlockfx.OnLeader(func(ctx context.Context) {
			s.at("callback", ctx)
			if strings.Contains(s.in, "panic") && !panicked.Swap(true) {
				panic("once")
			}
			<-ctx.Done()
		}),
		redlockfx.Options(func() []election.Option {
			return []election.Option{election.WithPanicHandler(func(*election.PanicError) { in("panic handler") })}
		}),
		redlockfx.Hooks(func() election.Hooks {
			return election.Hooks{
				Attempt: func(time.Duration, error) { in("hook Attempt") },
				Elected: func(t *election.Term) { s.term.Store(t); in("hook Elected") },
				Renewed: func(t *election.Term, _ int, _ time.Duration, _ error) {
					in("hook Renewed")
					s.at("hook with Term.Context", t.Context())
				},
				Ended: func(*election.Term, error) { in("hook Ended") },
			}
		}),
		redlockfx.Hooks(func() scheduler.Hooks {
			return scheduler.Hooks{
				Started:  func(scheduler.Run) { in("hook Started") },
				Finished: func(scheduler.Record) { in("hook Finished") },
			}
		}),
		fx.Invoke(func(l *redlock.Locker) { l.OnNode(func(redlock.NodeEvent) { in("OnNode") }) }),
	)
}

func (s *service) middleware(next func(context.Context, scheduler.Run) error) func(context.Context, scheduler.Run) error {
	return func(ctx context.Context, run scheduler.Run) error {
		if run.Job == "job" {
			s.at("middleware", ctx)
		}
		return next(ctx, run)
	}
}

// outcome returns what happens if the function calls the method.
func outcome(t *testing.T, method method, function string, begin func(s *service)) (outcome string) {
	inBubble(t, func(t *testing.T, c *cluster) {
		s := &service{in: function, method: method, ended: make(chan string, 1)}
		s.App, s.links = c.app(redlockfx.Config{Name: "x", TTL: waitingTTL, DrainTimeout: waitingDrain}, s.functions())
		s.RequireStart()
		var begun sync.WaitGroup
		begun.Go(func() {
			for begin != nil && !s.elector.IsLeader() {
				time.Sleep(time.Second)
			}
			if begin != nil {
				begin(s)
			}
		})
		select {
		case outcome = <-s.ended:
		case <-time.After(10 * time.Minute):
			t.Errorf("waits for itself")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		_ = s.App.App.Stop(ctx)
		_ = s.elector.Shutdown(ctx) // if the application was stopped before
		begun.Wait()
		for s.elector.State() != election.StateStopped {
			time.Sleep(time.Second)
		}
		_ = s.locker.Close(ctx) // if its context ended before
		synctest.Wait()
	})
	return outcome
}

// No method waits for the function that calls it. The table of the page says what happens instead.
func TestWaits_ForNoCaller(t *testing.T) {
	page, err := os.ReadFile("../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n### No call waits for its own caller\n")
	table, _, _ = strings.Cut(table, "\n#")
	var columns []string
	rows := make(map[string]bool)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "|\n "), " | ")
		switch {
		case len(cells) < 2:
		case columns == nil:
			columns = cells
			if got, want := slices.Sorted(slices.Values(cells[1:])), slices.Sorted(maps.Keys(functions)); !slices.Equal(got, want) {
				t.Fatalf("columns %q, want %q", got, want)
			}
		case methods[cells[0]] != nil:
			rows[cells[0]] = true
			for i, want := range cells[1:] {
				t.Run(cells[0]+" from "+columns[i+1], func(t *testing.T) { checkCell(t, cells[0], columns[i+1], want) })
			}
		}
	}
	if len(rows) != len(methods) {
		t.Errorf("rows %q, want %q", slices.Sorted(maps.Keys(rows)), slices.Sorted(maps.Keys(methods)))
	}
}

// checkCell compares a cell with the worst outcome of the functions in its column.
func checkCell(t *testing.T, row, column, want string) {
	t.Parallel()
	worst := ""
	for function, begin := range functions[column] {
		got := outcome(t, methods[row], function, begin)
		t.Logf("%s: %s", function, got)
		worst = map[bool]string{true: got, false: worst}[rank(got) > rank(worst)]
	}
	if worst != want {
		t.Errorf("%q, want %q", worst, want)
	}
}

func rank(outcome string) int { return slices.Index([]string{"", "works", "error", "late"}, outcome) }
