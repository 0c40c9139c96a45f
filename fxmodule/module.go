package redlockfx

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// Module is one election with its jobs and callbacks. See the package's description.
var Module = Named("")

// Named is Module for one more election in the same application: its Config comes through
// [Settings] and its nodes, jobs and callbacks through the helpers, each with [For] that name, and
// what it provides carries the tag name:"<name>".
func Named(name string) fx.Option {
	t, err := newTarget([]GroupOption{For(name)})
	if err != nil {
		return fx.Error(err)
	}
	title := "redlock"
	if name != "" {
		title += "-" + name
	}
	own, all := optional(t.nameTag()), optional("")
	watch := func(
		log *zap.Logger, lock, allLocks redlock.Hooks, terms, allTerms election.Hooks, jobs, allJobs scheduler.Hooks,
	) observers {
		if log == nil {
			log = zap.NewNop()
		}
		return observers{log.Named(title), either(lock, allLocks), either(terms, allTerms), either(jobs, allJobs)}
	}
	build := func(
		config Config, nodes []redis.UniversalClient, jobs []registered[[]scheduler.Job],
		callbacks []registered[func(context.Context)], middleware []registered[scheduler.Middleware], watch observers,
	) (*module, error) {
		return newModule(t, config, nodes, work{inOrder(jobs), callbacks, inOrder(middleware)}, watch)
	}
	return fx.Module(title,
		fx.Provide(
			fx.Private,
			fx.Annotate(watch, fx.ParamTags(all, own, all, own, all, own, all)),
			fx.Annotate(build, fx.ParamTags(
				own, t.groupTag("nodes"), t.groupTag("jobs"), t.groupTag("callbacks"), t.groupTag("middleware"))),
		),
		fx.Provide(
			fx.Annotate(func() *present { return &present{} }, fx.ResultTags(t.nameTag())),
			fx.Annotate((*module).giveLocker, fx.ResultTags(t.nameTag())),
			fx.Annotate((*module).giveElector, fx.ResultTags(t.nameTag())),
			fx.Annotate((*module).giveScheduler, fx.ResultTags(t.nameTag())),
		),
		fx.Invoke(func(m *module, lc fx.Lifecycle) {
			lc.Append(fx.Hook{OnStart: m.start, OnStop: m.stop})
		}),
	)
}

func optional(tag string) string { return strings.TrimSpace(tag + ` optional:"true"`) }

// either are the hooks of one election, or without any those of all.
func either[T any](own, all T) T {
	if reflect.ValueOf(own).IsZero() {
		return all
	}
	return own
}

// work is what the helpers have registered.
type work struct {
	jobs       []registered[[]scheduler.Job]
	callbacks  []registered[func(context.Context)]
	middleware []registered[scheduler.Middleware]
}

// observers are told what happens, where the application has them.
type observers struct {
	log      *zap.Logger
	lock     redlock.Hooks
	election election.Hooks
	jobs     scheduler.Hooks
}

// module is one election of an application.
type module struct {
	config    Config
	log       *zap.Logger
	locker    *redlock.Locker
	elector   *election.Elector
	scheduler *scheduler.Scheduler

	lockerAsked bool // somebody in the application takes the Locker
	campaigns   bool // there are jobs or callbacks, or somebody may add some

	cancel context.CancelFunc // ends Run, nil if it was not started
	ended  chan struct{}      // closed when Run has returned
}

func newModule(
	t target, config Config, nodes []redis.UniversalClient, given work, watch observers,
) (*module, error) {
	if err := checkInputs(t, config, nodes); err != nil {
		return nil, err
	}
	m := &module{config: config, log: watch.log, campaigns: len(given.jobs)+len(given.callbacks) > 0}
	var err error
	opts := append(config.lockerOptions(), redlock.WithHooks(watch.lock))
	if len(config.Nodes) > 0 {
		m.locker, err = redlock.Open(config.Nodes, opts...)
	} else {
		m.locker, err = redlock.New(nodes, opts...)
	}
	if err != nil {
		return nil, err
	}
	if err := m.build(given, watch); err != nil {
		return nil, errors.Join(err, m.locker.Close(context.Background()))
	}
	return m, nil
}

func checkInputs(t target, config Config, nodes []redis.UniversalClient) error {
	helper := ""
	if t.name != "" {
		helper = fmt.Sprintf(", For(%q)", t.name)
	}
	if config.Name == "" && len(config.Nodes) == 0 {
		return fmt.Errorf("redlockfx: there is no Config, or it has no Name: add "+
			"redlockfx.Settings(func() redlockfx.Config { ... }%s)", helper)
	}
	var problems []error
	switch {
	case len(config.Nodes) > 0 && len(nodes) > 0:
		problems = append(problems, fmt.Errorf("redlockfx: nodes are given both ways: %d in "+
			"Config.Nodes and %d by redlockfx.Node; use one", len(config.Nodes), len(nodes)))
	case len(config.Nodes)+len(nodes) == 0:
		problems = append(problems, fmt.Errorf("redlockfx: there are no nodes: name them in "+
			"Config.Nodes, or add a client for each by redlockfx.Node(constructor%s)", helper))
	}
	return errors.Join(append(problems, config.Validate())...)
}

func (m *module) build(given work, watch observers) error {
	opts := append(m.config.electionOptions(), election.WithLogger(m.log), election.WithHooks(watch.election))
	for _, callback := range given.callbacks {
		opts = append(opts, election.OnLeader(callback.value))
	}
	var err error
	if m.elector, err = election.New(m.locker, m.config.Name, opts...); err != nil {
		return err
	}
	location, err := m.config.location()
	if err != nil {
		return err
	}
	jobOpts := []scheduler.Option{
		scheduler.WithLocation(location), scheduler.WithLogger(m.log), scheduler.WithHooks(watch.jobs),
	}
	for _, middleware := range given.middleware {
		jobOpts = append(jobOpts, scheduler.WithMiddleware(middleware.value))
	}
	if m.scheduler, err = scheduler.New(m.elector, jobOpts...); err != nil {
		return err
	}
	return m.addJobs(given.jobs)
}

func (m *module) addJobs(jobs []registered[[]scheduler.Job]) error {
	var problems []error
	first := make(map[string]string)
	for _, r := range jobs {
		for _, job := range r.value {
			if at, twice := first[job.Name]; twice {
				problems = append(problems, fmt.Errorf("redlockfx: %w: job %q is registered at %s and at %s",
					scheduler.ErrName, job.Name, at, r.at))
				continue
			}
			first[job.Name] = r.at
			if err := m.scheduler.Add(job); err != nil {
				problems = append(problems, fmt.Errorf("redlockfx: registered at %s: %w", r.at, err))
			}
		}
	}
	return errors.Join(problems...)
}

func (m *module) giveLocker() *redlock.Locker {
	m.lockerAsked = true
	return m.locker
}

func (m *module) giveElector() *election.Elector {
	m.campaigns = true
	return m.elector
}

func (m *module) giveScheduler() *scheduler.Scheduler {
	m.campaigns = true
	return m.scheduler
}
