package redlockfx_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestModule_RunsJobsAndCallbacksInOneOfManyApplications(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		type store struct{ name string }
		k := &ticks{}
		led := make(chan string, 10)
		var apps []*fxtest.App
		for range 3 {
			app, _ := c.app(redlockfx.Config{Name: "billing"},
				redlockfx.OnLeader(func(context.Context) { led <- "plain" }),
				// A module of the application has its jobs and callbacks, and what they need.
				fx.Module("billing",
					fx.Supply(fx.Private, &store{"db"}),
					redlockfx.Job(func(s *store) (scheduler.Job, error) { return k.job(s.name), nil }),
					redlockfx.Job(func(s *store) []scheduler.Job {
						return []scheduler.Job{k.job("b"), k.job("c")}
					}),
					redlockfx.OnLeader(func(s *store) (func(context.Context), error) {
						return func(context.Context) { led <- s.name }, nil
					}),
				),
			)
			app.RequireStart()
			apps = append(apps, app)
		}
		time.Sleep(10*time.Second + 500*time.Millisecond)
		if got := k.count(); got != 30 {
			t.Errorf("%d runs of three jobs in ten seconds", got)
		}
		if a, b := <-led, <-led; a == b || len(led) != 0 {
			t.Errorf("callbacks: %s, %s and %d more", a, b, len(led))
		}
		for _, app := range apps {
			app.RequireStop()
		}
		for i := range 3 {
			want := []string{records.Default.Hash()}
			keys := slices.DeleteFunc(c.Node(i).Keys(), func(key string) bool { // the records of terms and jobs stay
				return strings.HasPrefix(key, "{redlock}:job") || strings.HasPrefix(key, "{redlock}:runs:") ||
					key == "{redlock}:names:billing" || key == "{redlock}:terms:billing"
			})
			if !slices.Equal(keys, want) {
				t.Errorf("left on node %d: %v", i, keys)
			}
		}
	})
}

// Without a zap logger, it logs to the application's slog logger.
func TestModule_LogsToSlog(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		var lines strings.Builder
		app, _ := c.app(redlockfx.Config{Name: "billing"}, fx.Supply(slog.New(slog.NewTextHandler(&lines, nil))),
			redlockfx.OnLeader(func(context.Context) {}))
		app.RequireStart()
		time.Sleep(time.Second)
		app.RequireStop()
		want.Parts(t, "the log", lines.String(), "msg=starting logger=redlock election=billing", `msg="this replica leads"`)
	})
}

func TestModule_NodesWhoseRestartsCannotBeSeenAreAcceptedByConfigAlone(t *testing.T) {
	for _, accepted := range []bool{false, true} {
		inBubble(t, func(t *testing.T, c *cluster) {
			for node := range 3 {
				c.Deny(node, "INFO")
			}
			var e *election.Elector
			app, _ := c.app(redlockfx.Config{Name: "x", UnseenRestarts: accepted}, fx.Populate(&e),
				redlockfx.OnLeader(func(ctx context.Context) { <-ctx.Done() }))
			app.RequireStart()
			time.Sleep(30 * time.Second) // the guards are new, because without INFO nothing identifies the servers
			if e.IsLeader() != accepted {
				t.Errorf("accepted %v, leads %v", accepted, e.IsLeader())
			}
			app.RequireStop()
		})
	}
}

// Hooks with For apply to that election, those without to all.
func TestModule_TwoElectionsWithHooksAndMiddlewareOfTheirOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		var mu sync.Mutex // guards said
		said := map[string][]string{}
		add := func(subject, word string) {
			mu.Lock()
			defer mu.Unlock()
			said[subject] = append(said[subject], word)
		}
		job := func(name string) func() scheduler.Job {
			return func() scheduler.Job { return (&ticks{}).job(name) }
		}
		jobHooks := func(whose string) func() (scheduler.Hooks, error) {
			return func() (scheduler.Hooks, error) {
				return scheduler.Hooks{Started: func(run scheduler.Run) { add(run.Job, whose+" hooks") }}, nil
			}
		}
		wrap := func(name string) scheduler.Middleware {
			return func(next func(context.Context, scheduler.Run) error) func(context.Context, scheduler.Run) error {
				return func(ctx context.Context, run scheduler.Run) error {
					add(run.Job, name)
					return next(ctx, run)
				}
			}
		}
		wrapped := func(names ...string) func() (all []scheduler.Option) {
			return func() (all []scheduler.Option) {
				for _, name := range names {
					all = append(all, scheduler.WithMiddleware(wrap(name)))
				}
				return all
			}
		}
		clients, _ := c.process(two)
		var both struct {
			fx.In
			One *election.Elector
			Two *election.Elector `name:"two"`
		}
		app, _ := c.app(redlockfx.Config{Name: "one"}, redlockfx.Named("two"), clients, fx.Populate(&both),
			settings(redlockfx.Config{Name: "other"}),
			redlockfx.Job(job("first")), redlockfx.Job(job("second"), two),
			redlockfx.Hooks(jobHooks("all's")), redlockfx.Hooks(jobHooks("two's"), two),
			redlockfx.Hooks(func() election.Hooks {
				return election.Hooks{Elected: func(*election.Term) { add("elections", "elected") }}
			}),
			redlockfx.Options(wrapped("outer", "middle", "inner")), redlockfx.Options(wrapped("two's"), two),
		)
		app.RequireStart()
		time.Sleep(1500 * time.Millisecond)
		if both.One.Name() != "one" || both.Two.Name() != "other" || !both.One.IsLeader() || !both.Two.IsLeader() {
			t.Errorf("elections %q and %q", both.One.Name(), both.Two.Name())
		}
		app.RequireStop()
		for subject, want := range map[string][]string{
			"first":     {"all's hooks", "outer", "middle", "inner"},
			"second":    {"all's hooks", "two's hooks", "two's"},
			"elections": {"elected", "elected"},
		} {
			if got := said[subject]; !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", subject, got, want)
			}
		}
	})
}

func TestModule_RefusesWhatCannotWork(t *testing.T) {
	config := redlockfx.Config{Name: "x", Nodes: []string{"127.0.0.1:1"}}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:2"})
	defer client.Close()
	node := redlockfx.Node(func() redis.UniversalClient { return client })
	job := func(name, spec string) func() scheduler.Job {
		return func() scheduler.Job {
			return scheduler.Job{
				Name: name, Spec: spec, Run: func(context.Context, scheduler.Run) error { return nil },
			}
		}
	}
	for name, test := range map[string]struct {
		opts fx.Option
		want []string
	}{
		"no config":        {redlockfx.Module, []string{"missing type: redlockfx.Config"}},
		"no second config": {fx.Options(redlockfx.Named("two"), fx.Supply(config)), []string{`missing type: redlockfx.Config[name="two"]`}},
		"no nodes": {
			fx.Options(redlockfx.Module, fx.Supply(redlockfx.Config{Name: "x"})),
			[]string{"redlockfx.Module has 0 nodes in Config.Nodes and 0 with redlockfx.Node: use one"},
		},
		"nodes both ways": {
			fx.Options(redlockfx.Module, fx.Supply(config), node),
			[]string{"redlockfx.Module has 1 nodes in Config.Nodes and 1 with redlockfx.Node: use one"},
		},
		"bad config": {
			fx.Options(redlockfx.Module, fx.Supply(redlockfx.Config{
				Nodes: []string{"a:1", "b:1"}, TTL: time.Millisecond, Location: "Mars/Olympus",
			})),
			[]string{"config: Name is empty", "there are 2", "ttl 1ms", `location "Mars/Olympus"`},
		},
		"bad fields": {
			fx.Options(redlockfx.Module, fx.Supply(redlockfx.Config{
				Name: "x", Nodes: []string{"a:1", "b:1"}, StopMargin: -1, Cooldown: -2, Standby: -3, RenewEvery: time.Millisecond,
				MaxTenure: time.Second, Identity: "a\n", Value: strings.Repeat("v", 3001), DrainTimeout: -1,
			})),
			[]string{
				"stop margin -1ns", "cooldown -2ns", "standby -3ns", "max tenure 1s less a tenth must be above", "renew every 1ms",
				`identity "a\n"`, "value has 3001 bytes", "drain timeout -1ns", "there are 2",
			},
		},
		"texts of a file": {
			fx.Options(redlockfx.Module, fx.Supply(redlockfx.Config{
				Name: "x ", Nodes: []string{`"rediss://r1"`}, KeyPrefix: "p\n", Identity: "a\u200bb", Location: "UTC\n", TLSCAFile: "ca.pem ",
			})),
			[]string{
				`name "x " must not begin or end with white space`, "quotation mark", `key prefix "p\n"`, `identity "a\u200bb"`,
				`location "UTC\n"`, `open "ca.pem ": no such file`,
			},
		},
		"nodes with commas": {
			fx.Options(redlockfx.Module, fx.Supply(redlockfx.Config{Name: "x", Nodes: []string{"a:1,b:2,c:3"}})),
			[]string{"node 1 of 1", "has a comma", "an item of its own"},
		},
		"pointer to a config": {
			fx.Options(redlockfx.Module, fx.Supply(&config)),
			[]string{"missing type: redlockfx.Config"},
		},
		"module twice": {
			fx.Options(fx.Module("one", redlockfx.Module), fx.Module("two", redlockfx.Module), fx.Supply(config)),
			[]string{"cannot provide *redlock.Locker", "already provided"},
		},
		"duplicate jobs": {
			fx.Options(redlockfx.Module, fx.Supply(config),
				redlockfx.Job(job("a", "@daily")), redlockfx.Job(job("a", "@hourly"))),
			[]string{`"a" is added at`, "again at"},
		},
		"failing constructor": {
			fx.Options(redlockfx.Module, fx.Supply(config),
				redlockfx.Job(func() (scheduler.Job, error) { return scheduler.Job{}, errors.New("no table") })),
			[]string{"module_test.go:", "no table"},
		},
		"pointer to a job": {
			redlockfx.Job(func() *scheduler.Job { return nil }),
			[]string{"redlockfx: Job at", "func() *scheduler.Job"},
		},
		"nil option": {
			fx.Options(redlockfx.Module, fx.Supply(config), redlockfx.Options(func() []scheduler.Option { return []scheduler.Option{nil} })),
			[]string{"scheduler: option", "is nil"},
		},
		"nil group option": {
			fx.Options(redlockfx.Module, fx.Supply(config), redlockfx.OnLeader(func(context.Context) {}, nil)),
			[]string{"OnLeader at", "option 1 of 1 is nil"},
		},
		"nil client": {
			fx.Options(redlockfx.Module, fx.Supply(redlockfx.Config{Name: "x"}), redlockfx.Node(func() redis.UniversalClient { return nil })),
			[]string{"node 1 of 1 is nil"},
		},
		"nil locker": {
			fx.Options(redlockfx.Module, fx.Supply(redlockfx.Config{Name: "x"}), redlockfx.Locker(func() *redlock.Locker { return nil })),
			[]string{"the locker is nil"},
		},
		"job that runs nothing": {
			fx.Options(redlockfx.Module, fx.Supply(config), redlockfx.Job(func() scheduler.Job { return scheduler.Job{Name: "a", Spec: "@daily"} })),
			[]string{`"a": Run is nil`},
		},
		"nil":      {redlockfx.OnLeader(nil), []string{"OnLeader at", "this is a <nil>"}},
		"bad name": {redlockfx.Named("a b"), []string{`"a b"`, "1 to 64 letters"}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, test.want, test.opts) })
	}
}
