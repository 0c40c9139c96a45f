package redlockfx_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// A front end that only shows who leads must not lead itself: it has no jobs, so no job would run.
func TestStart_WhoOnlyLooksOnDoesNotCampaign(t *testing.T) {
	job := func(k *ticks) fx.Option { return redlockfx.Job(func() scheduler.Job { return k.job("job") }) }
	for name, test := range map[string]struct {
		config redlockfx.Config
		opt    func(k *ticks) fx.Option
		logged string
	}{
		"takes the parts": {redlockfx.Config{Name: "x"}, func(*ticks) fx.Option {
			return fx.Invoke(func(*redlock.Locker, *election.Elector, *scheduler.Scheduler) {})
		}, "not campaigning"},
		"has jobs and observes": {redlockfx.Config{Name: "x", Observe: true}, job, "observing"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *cluster) {
				mine, theirs := &ticks{}, &ticks{}
				log, lines := observed()
				var e *election.Elector
				a, _ := c.app(test.config, log, test.opt(mine), fx.Populate(&e))
				a.RequireStart()
				time.Sleep(time.Minute)
				if c.held() > 0 {
					t.Fatal("an observer leads")
				}
				b, _ := c.app(redlockfx.Config{Name: "x", Identity: "b"}, job(theirs))
				b.RequireStart()
				time.Sleep(10 * time.Second)
				if leader, err := e.Leader(t.Context()); err != nil || leader.ID != "b" {
					t.Errorf("%+v leads, %v", leader, err)
				}
				if mine.count() > 0 || theirs.count() == 0 {
					t.Errorf("%d and %d runs", mine.count(), theirs.count())
				}
				b.RequireStop()
				a.RequireStop()
				if lines.FilterMessageSnippet(test.logged).Len() != 1 {
					t.Errorf("logged %v", lines.All())
				}
			})
		})
	}
}

// shutdowner replaces fx's, which listens to the signals of the process and does not work in virtual time.
type shutdowner chan fx.ShutdownOption

func (s shutdowner) Shutdown(opts ...fx.ShutdownOption) error {
	for _, opt := range opts {
		s <- opt
	}
	return nil
}

func (s shutdowner) option() fx.Option {
	return fx.Decorate(func(fx.Shutdowner) fx.Shutdowner { return s })
}

// Only the module can recover a panic on its goroutine.
func TestRun_APanicStopsTheApplicationInOrder(t *testing.T) {
	for name, test := range map[string]struct {
		opt  fx.Option
		want string
	}{
		"of a callback": {redlockfx.OnLeader(func(context.Context) { panic("no row") }), "callback panicked: no row"},
		"of a hook": {fx.Options(
			redlockfx.OnLeader(func(ctx context.Context) { <-ctx.Done() }),
			redlockfx.Hooks(func() election.Hooks {
				return election.Hooks{Elected: func(*election.Term) { panic(errors.New("no metric")) }}
			})), "no metric"},
		"or the end of its goroutine": {fx.Options(
			redlockfx.OnLeader(func(ctx context.Context) { <-ctx.Done() }),
			redlockfx.Hooks(func() election.Hooks {
				return election.Hooks{Elected: func(*election.Term) { runtime.Goexit() }}
			})), "runtime.Goexit"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *cluster) {
				log, lines := observed()
				closed, asked := false, make(shutdowner, 10)
				app, _ := c.app(redlockfx.Config{Name: "x"}, log, asked.option(), test.opt, fx.Invoke(func(lc fx.Lifecycle) {
					lc.Append(fx.StopHook(func() { closed = true }))
				}))
				app.RequireStart()
				if opt := <-asked; opt != fx.ExitCode(1) {
					t.Errorf("asked to stop with %v", opt)
				}
				if err := app.App.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("stopped with %v, want %q", err, test.want)
				}
				if !closed || lines.FilterLevelExact(zap.ErrorLevel).FilterMessageSnippet("has failed").Len() != 1 {
					t.Errorf("closed %v, logged %v", closed, lines.All())
				}
			})
		})
	}
}

func TestRun_APanicHandlerKeepsTheApplicationRunning(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		handled, asked := make(chan any, 100), make(shutdowner, 10)
		app, _ := c.app(redlockfx.Config{Name: "x"}, asked.option(),
			redlockfx.OnLeader(func(context.Context) { panic("no row") }),
			redlockfx.Options(func() []election.Option {
				return []election.Option{election.WithPanicHandler(func(p *election.PanicError) { handled <- p.Value })}
			}))
		app.RequireStart()
		time.Sleep(time.Minute)
		app.RequireStop()
		if len(handled) < 2 || <-handled != "no row" || len(asked) > 0 {
			t.Errorf("%d panics were handled, asked to stop %d times", len(handled), len(asked))
		}
	})
}

// A process without work lets others lead. It campaigns from its first job or callback on.
func TestRun_BeginsWithTheFirstWork(t *testing.T) {
	for what, add := range map[string]func(e *election.Elector, s *scheduler.Scheduler) error{
		"a callback": func(e *election.Elector, _ *scheduler.Scheduler) error {
			e.OnLeader(func(ctx context.Context) { <-ctx.Done() })
			return nil
		},
		"a job": func(_ *election.Elector, s *scheduler.Scheduler) error { return s.Add((&ticks{}).job("a")) },
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *cluster) {
				log, lines := observed()
				var e *election.Elector
				var s *scheduler.Scheduler
				app, _ := c.app(redlockfx.Config{Name: "x"}, log, fx.Populate(&e, &s))
				app.RequireStart()
				time.Sleep(10 * time.Second)
				if e.IsLeader() || c.held() > 0 || lines.FilterMessageSnippet("not campaigning").Len() != 1 {
					t.Errorf("it leads: %v, %d nodes have the lock; logged %v", e.IsLeader(), c.held(), lines.All())
				}
				if err := add(e, s); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
				if !e.IsLeader() {
					t.Error("it does not campaign")
				}
				app.RequireStop()
			})
		})
	}
}

// An application that stops the election by itself continues, whether the work has drained or not.
func TestRun_AShutdownByTheApplicationDoesNotEndIt(t *testing.T) {
	for what, test := range map[string]struct {
		before time.Duration // from the start to Shutdown
		lasts  time.Duration // how long the callback continues after it was told to stop
	}{
		"before there is work": {0, 0},
		"drained":              {5 * time.Second, 0},
		"not drained":          {5 * time.Second, 10 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *cluster) {
				log, lines := observed()
				asked := make(shutdowner, 10)
				var e *election.Elector
				app, _ := c.app(redlockfx.Config{Name: "x"}, log, asked.option(), fx.Populate(&e))
				app.RequireStart()
				work := func(ctx context.Context) {
					<-ctx.Done()
					time.Sleep(test.lasts)
				}
				if test.before > 0 {
					e.OnLeader(work)
					time.Sleep(test.before)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := e.Shutdown(ctx); (err != nil) != (test.lasts > 0) {
					t.Error(err)
				}
				if test.before == 0 {
					e.OnLeader(work)
				}
				time.Sleep(20 * time.Second)
				got := lines.FilterMessageSnippet("Elector.Shutdown").All()
				if len(asked) > 0 || len(got) != 1 || got[0].Level != zap.WarnLevel {
					t.Errorf("asked to stop %d times, logged %v", len(asked), lines.All())
				}
				app.RequireStop()
			})
		})
	}
}

func TestRun_TheApplicationsOwnIsLeftToIt(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		log, lines := observed()
		ended := make(chan error, 1)
		var e *election.Elector
		app, _ := c.app(redlockfx.Config{Name: "x"}, log, fx.Populate(&e))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(time.Millisecond)
		app.RequireStart()
		e.OnLeader(func(ctx context.Context) { <-ctx.Done() })
		time.Sleep(10 * time.Second)
		if !e.IsLeader() || lines.FilterMessageSnippet("the application itself has called").Len() != 1 {
			t.Errorf("leads %v, logged %v", e.IsLeader(), lines.All())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		app.RequireStop()
	})
}

// The application takes the three parts, adds a job to one, and its hooks are called. Its options are applied after those of the
// Config, and the log has the settings in force.
func TestModule_ProvidesItsThreePartsWithTheirOptionsAndHooks(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		var l *redlock.Locker
		var e *election.Elector
		var s *scheduler.Scheduler
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		k := &ticks{}
		elected, finished, failed := make(chan *election.Term, 1), make(chan scheduler.Record, 100), make(chan string, 100)
		log, lines := observed()
		app, links := c.app(redlockfx.Config{Name: "x", KeyPrefix: "app", Identity: "config", StopMargin: time.Second}, log,
			fx.Populate(&l, &e, &s), fx.Supply(berlin),
			redlockfx.Hooks(func() scheduler.Hooks {
				return scheduler.Hooks{Finished: func(r scheduler.Record) { finished <- r }}
			}),
			redlockfx.Hooks(func() election.Hooks { return election.Hooks{Elected: func(term *election.Term) { elected <- term }} }),
			redlockfx.Options(func() []redlock.Option {
				return []redlock.Option{redlock.WithFenceRetention(3 * time.Hour), redlock.WithFenceRetention(2 * time.Hour)}
			}),
			redlockfx.Options(func() ([]election.Option, error) {
				return []election.Option{election.WithIdentity("option", "")}, nil
			}),
			redlockfx.Options(func(zone *time.Location) []scheduler.Option {
				return []scheduler.Option{scheduler.WithLocation(zone)}
			}),
			fx.Invoke(func(l *redlock.Locker) {
				l.OnNode(func(e redlock.NodeEvent) {
					if e.Kind == redlock.NodeFails {
						failed <- e.Addr
					}
				})
			}),
			fx.Invoke(func(s *scheduler.Scheduler) error { return s.Add(k.job("late")) }))
		app.RequireStart()
		time.Sleep(10*time.Second + 500*time.Millisecond)
		jobs, err := s.Jobs(t.Context())
		if err != nil || len(jobs) != 1 || jobs[0].Zone != "Europe/Berlin" {
			t.Errorf("jobs %+v, %v", jobs, err)
		}
		if l.Settings().FenceRetention != 2*time.Hour || l.Settings().KeyPrefix != "app" || e.Identity() != "option" || e.Name() != "x" {
			t.Errorf("settings %+v, name %q, identity %q", l.Settings(), e.Name(), e.Identity())
		}
		if e.Locker() != l || !e.IsLeader() || k.count() != 10 {
			t.Errorf("leads %v, %d runs", e.IsLeader(), k.count())
		}
		if r := <-finished; !(<-elected).Valid() || r.Job != "late" || r.State != scheduler.StateOK || len(failed) > 0 {
			t.Errorf("finished %+v, %d nodes failed", r, len(failed))
		}
		started := lines.FilterMessage("starting").All()
		if len(started) != 1 {
			t.Fatalf("logged %v", lines.All())
		}
		for key, want := range map[string]any{
			"candidate": "option", "ttl": 10 * time.Second, "max_ttl": 10 * time.Second, "node_timeout": 200 * time.Millisecond,
			"stop_margin": time.Second, "drain_timeout": 10 * time.Second, "key_prefix": "app", "restart_guard": true,
		} {
			if got := started[0].ContextMap()[key]; got != want {
				t.Errorf("%s is %v, want %v", key, got, want)
			}
		}
		links.Cut(0)
		if node := <-failed; node != c.Addrs()[0] {
			t.Errorf("node %s failed, want %s", node, c.Addrs()[0])
		}
		app.RequireStop()
	}, redlock.WithKeyPrefix("app"))
}
