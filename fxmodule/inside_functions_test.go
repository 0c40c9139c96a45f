package redlockfx_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// functions are those that call, by the columns of the table. The test has some of them called once this process leads.
var functions = map[string]map[string]func(s *service){
	"a run, middleware": {"run": nil, "middleware": nil, "goroutine of a run": nil, "Do in a run": nil},
	"a callback, `Term.Do`": {
		"callback": nil, "goroutine of a callback": nil, "hook with Term.Context": nil,
		"Term.Do": func(s *service) {
			_ = s.term.Load().Do(context.Background(), func(ctx context.Context) error { s.at("Term.Do", ctx); return nil })
		},
	},
	"a hook, the logger, the panic handler": {
		// On the goroutine of Run.
		"hook Attempt": nil, "hook Elected": nil, "hook Renewed": nil, "panic handler": nil,
		"logger: this replica leads": nil,
		"hook Ended":                 resign, "hook Drained": resign,
		// On the goroutine of a run.
		"hook Started": nil, "hook Retrying": nil, "hook Panicked": nil, "slog: run failed": nil,
		// On a goroutine that a run waits for.
		"hook Overrun": nil,
		// On the goroutine of the ticks.
		"hook Finished": nil, "hook Changed": trigger, "logger: change applied": trigger,
	},
	"a function of `OnNode`, `OnNewLeader`, `Extension` or a `Schedule`": {
		"OnNode": func(s *service) { s.links.Cut(0) },
		"OnNewLeader": func(s *service) {
			s.stops <- s.elector.OnNewLeader(func(election.Leader) { s.at("OnNewLeader", context.Background()) })
		},
		"Extension": func(s *service) { s.extended("extended") }, "Extension of the same lock": func(s *service) { s.extended("lock") },
		"Schedule": nil,
	},
	"a `Do` of the same lock": {
		"Do": func(s *service) { s.inDo("Do", s.at) },
		"goroutine of Do": func(s *service) {
			s.inDo("goroutine of Do", func(function string, ctx context.Context) { s.beside(function, ctx) })
		},
		"context of a lease": func(s *service) {
			if lease, err := s.locker.Acquire(context.Background(), "lock", redlock.WithAutoExtend(redlock.Extension{})); err == nil {
				s.at("context of a lease", lease.Context())
				_ = lease.Release(context.Background())
			}
		},
	},
	"code that got a context from one that has returned": {
		"after a run": later, "after a callback": later,
		"after Term.Do": func(s *service) {
			_ = s.term.Load().Do(context.Background(), func(ctx context.Context) error { s.kept <- ctx; return nil })
			later(s)
		},
		"after Do": func(s *service) {
			s.inDo("", func(_ string, ctx context.Context) { s.kept <- ctx })
			later(s)
		},
	},
}

func resign(s *service) { s.term.Load().Resign(nil) }

func trigger(s *service) {
	for s.scheduler.Trigger(context.Background(), "job") != nil && s.elector.IsLeader() { // the job is not stored yet
		time.Sleep(time.Second)
	}
}

// later calls with a context whose function has returned. Otherwise the end of the context would end the call.
func later(s *service) {
	ctx := context.WithoutCancel(<-s.kept)
	time.Sleep(time.Second)
	s.at(s.in, ctx)
}

// extended acquires a lock whose extensions call.
func (s *service) extended(lock string) {
	lease, _ := s.locker.Acquire(context.Background(), lock, redlock.WithAutoExtend(redlock.Extension{
		Extended: func(int, time.Duration, error) { s.at(s.in, context.Background()) },
	}))
	s.lease.Store(lease)
}

func (s *service) inDo(function string, fn func(function string, ctx context.Context)) {
	_ = s.locker.Do(context.Background(), "lock", func(ctx context.Context, lease *redlock.Lease) error {
		s.lease.Store(lease)
		fn(function, ctx)
		return nil
	})
}

// beside calls on another goroutine, with a context that does not end, and waits for it.
func (s *service) beside(function string, ctx context.Context) {
	var called sync.WaitGroup
	called.Go(func() { s.at(function, context.WithoutCancel(ctx)) })
	called.Wait()
}

// keep keeps a context for a function that is called after its own.
func (s *service) keep(function string, ctx context.Context) (kept bool) {
	if s.in != function || len(s.kept) > 0 {
		return false
	}
	s.kept <- ctx
	return true
}

// timetable is a job's Schedule. The module calls it also when it starts.
type timetable struct{ s *service }

func (t timetable) Next(after time.Time) time.Time {
	if t.s.term.Load() != nil {
		t.s.at("Schedule", context.Background())
	}
	return after.Truncate(time.Minute).Add(time.Minute)
}

func (s *service) functions() fx.Option {
	in := func(function string) { s.at(function, context.Background()) }
	var panicked atomic.Bool
	return fx.Options(
		s.logger(),
		fx.Populate(&s.locker, &s.elector, &s.scheduler),
		redlockfx.Job(s.jobs),
		redlockfx.Options(func() []scheduler.Option {
			return []scheduler.Option{scheduler.WithMiddleware(s.middleware)}
		}),
		redlockfx.OnLeader(func(ctx context.Context) {
			s.at("callback", ctx)
			s.beside("goroutine of a callback", ctx)
			if strings.Contains(s.in, "panic handler") && !panicked.Swap(true) {
				panic("once")
			}
			if !s.keep("after a callback", ctx) {
				<-ctx.Done()
			}
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
				Ended:   func(*election.Term, error) { in("hook Ended") },
				Drained: func(*election.Term, time.Duration, bool) { in("hook Drained") },
			}
		}),
		redlockfx.Hooks(func() scheduler.Hooks {
			return scheduler.Hooks{
				Started:  func(scheduler.Run) { in("hook Started") },
				Finished: func(scheduler.Record) { in("hook Finished") },
				Overrun:  func(scheduler.Run) { in("hook Overrun") },
				Retrying: func(scheduler.Run, error) { in("hook Retrying") },
				Panicked: func(scheduler.Run, any, []byte) { in("hook Panicked") },
				Changed:  func(scheduler.Change) { in("hook Changed") },
			}
		}),
		fx.Invoke(func(l *redlock.Locker) { s.stops <- l.OnNode(func(redlock.NodeEvent) { in("OnNode") }) }),
	)
}

func (s *service) logger() fx.Option {
	if strings.HasPrefix(s.in, "slog: ") {
		return fx.Supply(slog.New(slogHandler{slog.NewTextHandler(io.Discard, nil), s}))
	}
	core, _ := observer.New(zap.InfoLevel)
	return fx.Supply(zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		s.at("logger: "+e.Message, context.Background())
		return nil
	})))
}

// slogHandler keeps nothing.
type slogHandler struct {
	slog.Handler
	s *service
}

func (h slogHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h slogHandler) WithGroup(string) slog.Handler      { return h }

func (h slogHandler) Handle(ctx context.Context, r slog.Record) error {
	h.s.at("slog: "+r.Message, ctx)
	return nil
}

func (s *service) jobs() []scheduler.Job {
	nothing := func(context.Context, scheduler.Run) error { return nil }
	job := scheduler.Job{Name: "job", Spec: "*/5 * * * * *", Overlap: scheduler.Queue, Run: func(ctx context.Context, _ scheduler.Run) error {
		s.at("run", ctx)
		s.beside("goroutine of a run", ctx)
		s.keep("after a run", ctx)
		switch s.in {
		case "Do in a run":
			_ = s.locker.Do(ctx, "outer", func(ctx context.Context, _ *redlock.Lease) error { s.at("Do in a run", ctx); return nil })
		case "hook Overrun":
			time.Sleep(3 * time.Second)
		case "hook Panicked":
			panic("run")
		}
		return errors.New("failed")
	}}
	switch s.in {
	case "hook Overrun":
		job.Timeout = time.Second
	case "hook Retrying":
		job.Retry.Times = 1
	}
	return []scheduler.Job{job, {Name: "other", Spec: "@yearly", Run: nothing}, {Name: "scheduled", Spec: "each minute", Schedule: timetable{s}, Run: nothing}}
}

func (s *service) middleware(next func(context.Context, scheduler.Run) error) func(context.Context, scheduler.Run) error {
	return func(ctx context.Context, run scheduler.Run) error {
		if run.Job == "job" {
			s.at("middleware", ctx)
		}
		return next(ctx, run)
	}
}
