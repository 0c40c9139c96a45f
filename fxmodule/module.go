package redlockfx

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// Module is one election with its jobs and callbacks. See the package documentation.
var Module = Named("")

// Named returns a Module for one more election in the same application. Its Config has the tag name:"<name>", and its
// nodes, jobs and callbacks come from the helpers, each with [For] that name. The values that it provides have that tag
// too.
func Named(name string) fx.Option {
	t, err := newTarget(For(name))
	if err != nil {
		return fx.Error(err)
	}
	const optional = `optional:"true"`
	own, collected, hooks := t.nameTag(), t.groupTag(), target{all: true}.groupTag()
	// A private value needs a name: otherwise fx would see a cycle if one election takes the Locker of another.
	private, log := fmt.Sprintf(`name:"redlockfx_%s"`, t.name), fmt.Sprintf(`name:"redlockfx_log_%s"`, t.name)
	return fx.Module(t.title(),
		fx.Provide(
			fx.Annotate(t.newLocker, fx.ParamTags("", log, own, collected, collected, collected), fx.ResultTags(own)),
			fx.Annotate(t.newElector, fx.ParamTags(own, log, own, hooks, collected, collected), fx.ResultTags(own)),
			fx.Annotate(t.newScheduler, fx.ParamTags(own, log, own, hooks, collected, collected), fx.ResultTags(own)),
			fx.Annotate(func() *module { return &module{target: t} }, fx.ResultTags(private)),
			fx.Annotate(func(m *module) *module { return m }, fx.ParamTags(private), fx.ResultTags(allElections)),
			fx.Annotate(t.newLogger, fx.ParamTags(optional, optional), fx.ResultTags(log)),
		),
		fx.Invoke(
			fx.Annotate((*module).addWork, fx.ParamTags(private, log, own, own, own, collected, collected, collected)),
			fx.Annotate((*module).follow, fx.ParamTags(private, "", "", allElections)),
		),
	)
}

// addWork adds the jobs and callbacks that the helpers have collected. They are built here, after the three parts, which
// they may take, and before follow appends its hook, so that the election drains before their dependencies are stopped.
func (m *module) addWork(
	log *zap.Logger, config Config, elector *election.Elector, s *scheduler.Scheduler,
	jobs []scheduler.Job, lists [][]scheduler.Job, callbacks []func(context.Context),
) error {
	m.elector, m.log, m.observe = elector, log, config.Observe
	for _, fn := range callbacks {
		if fn == nil {
			return errors.New("redlockfx: a constructor of redlockfx.OnLeader has returned nil")
		}
		elector.OnLeader(fn)
	}
	return s.Add(slices.Concat(append(lists, jobs)...)...)
}
