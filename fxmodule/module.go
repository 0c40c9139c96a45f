package redlockfx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.uber.org/fx"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// Module is one election with its jobs and callbacks. See the package documentation.
var Module = Named("")

// Named returns a Module for one more election in the same application. Its Config comes from [Settings], and its
// nodes, jobs and callbacks from the helpers, each with [For] that name. The values that it provides have the tag
// name:"<name>".
func Named(name string) fx.Option {
	t, err := newTarget(For(name))
	if err != nil {
		return fx.Error(err)
	}
	once := fmt.Sprintf("name:%q", t.option()+": an application may have it once; for another election use redlockfx.Named with another name")
	own, private, options := t.nameTag(), t.privateTag(), t.groupTag("options")
	return fx.Module(t.title(),
		fx.Provide(fx.Annotate(func() *present { return &present{} }, fx.ResultTags(once))), // first, so that fx names it if the election is added twice
		fx.Provide(
			fx.Annotate(func() *module { return &module{target: t} }, fx.ResultTags(private)),
			fx.Annotate(func(m *module) *module { return m }, fx.ParamTags(private), fx.ResultTags(allElections)),
		),
		fx.Provide(
			fx.Private,
			fx.Annotate(t.newLogger, fx.ParamTags(optional), fx.ResultTags(private)),
			hooked(t, election.WithHooks), hooked(t, scheduler.WithHooks),
			fx.Annotate(t.newInputs, fx.ParamTags(own, t.groupTag("nodes"), t.groupTag("lockers")), fx.ResultTags(private)),
		),
		fx.Provide(
			fx.Annotate((*inputs).newLocker, fx.ParamTags(private, "", private, options), fx.ResultTags(own)),
			fx.Annotate((*inputs).newElector,
				fx.ParamTags(private, private, own, private, private, options), fx.ResultTags(own)),
			fx.Annotate((*inputs).newScheduler,
				fx.ParamTags(private, private, own, private, private, options), fx.ResultTags(own)),
		),
		// The jobs and callbacks are built here, after the three parts, which they may take. The hook is appended
		// after them, so that it drains before their dependencies are stopped.
		fx.Invoke(
			fx.Annotate((*module).addWork, fx.ParamTags(private, own,
				t.groupTag("jobs"), t.groupTag("callbacks"), t.groupTag("middleware"))),
			fx.Annotate((*module).follow, fx.ParamTags(private, "", "", allElections)),
		),
	)
}

// present exists once for each election of an application.
type present struct{}

// module is one election of an application.
type module struct {
	target
	elector    *election.Elector
	scheduler  *scheduler.Scheduler
	middleware []scheduler.Middleware // of the application, complete when it starts
	campaign   campaign
}

// wrap is the middleware of every job. It looks up the application's middleware at the job's first run, because
// middleware may depend on the Scheduler, and so is built after it, but before any run.
func (m *module) wrap(next func(context.Context, scheduler.Run) error) func(context.Context, scheduler.Run) error {
	wrapped := sync.OnceValue(func() func(context.Context, scheduler.Run) error {
		for _, wrap := range slices.Backward(m.middleware) {
			next = wrap(next)
		}
		return next
	})
	return func(ctx context.Context, run scheduler.Run) error { return wrapped()(ctx, run) }
}

// addWork adds the jobs and callbacks that the helpers have collected. The Scheduler is a parameter so that fx builds it.
func (m *module) addWork(
	_ *scheduler.Scheduler, jobs []registered[[]scheduler.Job], callbacks []registered[func(context.Context)],
	middleware []registered[scheduler.Middleware],
) error {
	for _, r := range inOrder(middleware) {
		m.middleware = append(m.middleware, r.value)
	}
	for _, r := range inOrder(callbacks) {
		m.elector.OnLeader(r.value)
	}
	var problems []error
	first := make(map[string]string)
	for _, r := range inOrder(jobs) {
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
