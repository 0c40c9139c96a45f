package redlockfx_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// inBothOrders runs the test with the module before and after the other options of the application.
func inBothOrders(t *testing.T, test func(t *testing.T, c *cluster, app func(opts ...fx.Option) *fxtest.App)) {
	t.Helper()
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("module first %v", first), func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *cluster) {
				clients, _ := c.process()
				test(t, c, func(opts ...fx.Option) *fxtest.App {
					all := append([]fx.Option{fx.NopLogger, fx.Supply(redlockfx.Config{Name: "x"}), clients}, opts...)
					if first {
						return fxtest.New(t, slices.Insert(all, 1, redlockfx.Module)...)
					}
					return fxtest.New(t, append(all, redlockfx.Module)...)
				})
			})
		})
	}
}

// repository is a component between a job and the Locker.
type repository struct{ locker *redlock.Locker }

func TestModule_JobsAndCallbacksMayTakeItsParts(t *testing.T) {
	inBothOrders(t, func(t *testing.T, c *cluster, app func(opts ...fx.Option) *fxtest.App) {
		said := make(chan string, 100)
		lock := func(l *redlock.Locker, name string) error {
			return l.Do(t.Context(), name, func(context.Context, *redlock.Lease) error {
				said <- name
				return nil
			})
		}
		once := func(name string, run func(context.Context, scheduler.Run) error) scheduler.Job {
			return scheduler.Job{Name: name, Spec: "@hourly", Run: run}
		}
		a := app(
			fx.Provide(func(l *redlock.Locker) *repository { return &repository{l} }),
			redlockfx.Job(func(l *redlock.Locker) scheduler.Job {
				return once("direct", func(context.Context, scheduler.Run) error { return lock(l, "by a job") })
			}),
			redlockfx.Job(func(r *repository) scheduler.Job {
				return once("behind", func(context.Context, scheduler.Run) error { return lock(r.locker, "by a repository") })
			}),
			redlockfx.Job(func(s *scheduler.Scheduler) scheduler.Job {
				return once("trigger", func(ctx context.Context, _ scheduler.Run) error {
					return s.Trigger(ctx, "behind")
				})
			}),
			redlockfx.OnLeader(func(e *election.Elector, s *scheduler.Scheduler) func(context.Context) {
				return func(ctx context.Context) {
					if e.IsLeader() {
						said <- "by a callback"
					}
					time.Sleep(3 * time.Second) // until the nodes know the jobs
					for _, job := range []string{"direct", "trigger"} {
						if err := s.Trigger(ctx, job); err != nil {
							t.Error(err)
						}
					}
				}
			}),
			redlockfx.Options(func(r *repository) []scheduler.Option {
				return []scheduler.Option{scheduler.WithMiddleware(func(next func(context.Context, scheduler.Run) error) func(context.Context, scheduler.Run) error {
					return func(ctx context.Context, run scheduler.Run) error {
						return r.locker.Do(ctx, "by middleware of "+run.Job, func(ctx context.Context, _ *redlock.Lease) error {
							return next(ctx, run)
						})
					}
				})}
			}),
			redlockfx.Options(func(r *repository) []election.Option {
				return []election.Option{election.WithPanicHandler(func(*election.PanicError) { _ = r.locker })}
			}),
		)
		a.RequireStart()
		time.Sleep(10 * time.Second)
		a.RequireStop()
		close(said)
		var all []string
		for word := range said {
			all = append(all, word)
		}
		slices.Sort(all)
		if want := []string{"by a callback", "by a job", "by a repository"}; !slices.Equal(all, want) {
			t.Errorf("said %q, want %q", all, want)
		}
	})
}

// pool is a resource of a run. It fails the test if it is closed during the run.
type pool struct {
	t      *testing.T
	closed atomic.Bool
}

func (p *pool) use(d time.Duration) {
	time.Sleep(d)
	if p.closed.Load() {
		p.t.Error("the pool was closed under the run")
	}
}

func newPool(t *testing.T) func(lc fx.Lifecycle) *pool {
	return func(lc fx.Lifecycle) *pool {
		p := &pool{t: t}
		lc.Append(fx.StopHook(func() { p.closed.Store(true) }))
		return p
	}
}

// The run and the callback finish, then the lease is released, and only then is closed what they use.
func TestStop_ClosesWhatJobsAndCallbacksNeedAfterTheyHaveDrained(t *testing.T) {
	inBothOrders(t, func(t *testing.T, c *cluster, app func(opts ...fx.Option) *fxtest.App) {
		ended := make(chan string, 100)
		var used *pool
		a := app(
			fx.Provide(newPool(t)),
			redlockfx.Job(func(p *pool) scheduler.Job {
				return scheduler.Job{Name: "job", Spec: "@every 10s", Run: func(ctx context.Context, _ scheduler.Run) error {
					p.use(8 * time.Second)
					if ctx.Err() != nil {
						t.Errorf("the run was cut off: %v", context.Cause(ctx))
					}
					ended <- "run"
					return nil
				}}
			}),
			redlockfx.OnLeader(func(p *pool, e *election.Elector) func(context.Context) {
				return func(ctx context.Context) {
					<-ctx.Done()
					p.use(6 * time.Second)
					ended <- "callback"
				}
			}),
			fx.Populate(&used),
		)
		a.RequireStart()
		time.Sleep(21 * time.Second) // into a run
		began := time.Now()
		a.RequireStop()
		if took := time.Since(began).Truncate(time.Millisecond); took != 7*time.Second {
			t.Errorf("stopped after %v, want when the run had ended", took)
		}
		if len(ended) < 3 || !used.closed.Load() || c.held() > 0 {
			t.Errorf("%d ended, closed %v, and %d nodes still have the lock", len(ended), used.closed.Load(), c.held())
		}
	})
}

// A component that takes the Locker, directly or not, may use it in its own stop.
func TestStop_ClosesTheLockerAfterWhoTakesIt(t *testing.T) {
	type server struct{}
	use := func(lc fx.Lifecycle, l *redlock.Locker) *server {
		lc.Append(fx.StopHook(func(ctx context.Context) error {
			return l.Do(ctx, "flush", func(context.Context, *redlock.Lease) error { return nil })
		}))
		return &server{}
	}
	for name, constructor := range map[string]any{
		"Locker":  use,
		"Elector": func(lc fx.Lifecycle, e *election.Elector) *server { return use(lc, e.Locker()) },
	} {
		t.Run(name, func(t *testing.T) {
			inBothOrders(t, func(t *testing.T, c *cluster, app func(opts ...fx.Option) *fxtest.App) {
				a := app(
					fx.Module("http", fx.Provide(constructor), fx.Invoke(func(*server) {})),
					redlockfx.OnLeader(func(ctx context.Context) { <-ctx.Done() }),
				)
				a.RequireStart()
				time.Sleep(time.Second)
				a.RequireStop() // with the error of the server's stop
			})
		})
	}
}
