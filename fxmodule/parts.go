package redlockfx

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// logger is the application's logger, named after the election.
type logger struct{ *zap.Logger }

func (t target) newLogger(log *zap.Logger) logger {
	if log == nil {
		log = zap.NewNop()
	}
	return logger{log.Named(t.title())}
}

// hooked returns a constructor of the options that add all hooks of one kind that an election has.
func hooked[H, O any](t target, with func(H) O) any {
	return fx.Annotate(func(bare H, all, own []registered[H]) []O {
		if t.name == "" {
			own = nil // this is the group of all elections
		}
		opts := []O{with(bare)}
		for _, r := range slices.Concat(inOrder(all), inOrder(own)) {
			opts = append(opts, with(r.value))
		}
		return opts
	}, fx.ParamTags(optional, target{}.groupTag("hooks"), t.groupTag("hooks")), fx.ResultTags(t.privateTag()))
}

// inputs are the values of the application from which the parts of an election are built.
type inputs struct {
	config Config
	nodes  []redis.UniversalClient
	locker *registered[*redlock.Locker] // an existing one, or nil
}

func (t target) newInputs(
	config Config, nodes []registered[redis.UniversalClient], lockers []registered[*redlock.Locker],
) (*inputs, error) {
	in := &inputs{config: config}
	for _, node := range inOrder(nodes) {
		in.nodes = append(in.nodes, node.value)
	}
	forName := ""
	if t.name != "" {
		forName = fmt.Sprintf(", redlockfx.For(%q)", t.name)
	}
	if lockers = inOrder(lockers); len(lockers) > 1 {
		return nil, fmt.Errorf("redlockfx: %s gets more than one Locker: from %v and %v", t.option(),
			lockers[0].call, lockers[1].call)
	}
	if len(lockers) == 1 {
		in.locker = &lockers[0]
		if set := append(config.ofLocker(), nodeCalls(nodes)...); len(set) > 0 {
			return nil, fmt.Errorf("redlockfx: %v gives %s a Locker that has its own nodes and settings: leave out "+
				"%q", lockers[0].call, t.option(), set)
		}
		return in, nil // election.New checks the rest against the Locker's settings
	}
	var problems []error
	switch {
	case len(config.Nodes) > 0 && len(nodes) > 0:
		problems = append(problems, fmt.Errorf("redlockfx: nodes are given both ways: %d in "+
			"Config.Nodes and %d with redlockfx.Node; use one of them", len(config.Nodes), len(nodes)))
	case len(config.Nodes)+len(nodes) == 0:
		problems = append(problems, fmt.Errorf("redlockfx: there are no nodes: name them in "+
			"Config.Nodes, or add a client for each with redlockfx.Node(constructor%s)", forName))
	}
	if err := errors.Join(append(problems, config.Validate())...); err != nil {
		return nil, err
	}
	return in, nil
}

func nodeCalls(nodes []registered[redis.UniversalClient]) []string {
	var all []string
	for _, node := range inOrder(nodes) {
		all = append(all, node.String())
	}
	return all
}

// newLocker makes the Locker. fx closes it after everything that takes it has stopped.
func (in *inputs) newLocker(
	lc fx.Lifecycle, log logger, options []registered[[]redlock.Option],
) (*redlock.Locker, error) {
	if in.locker != nil {
		var late []call
		for _, r := range options {
			late = append(late, r.call)
		}
		if len(late) > 0 {
			return nil, fmt.Errorf("redlockfx: the Locker comes from %v, so these must go to its constructor: %v",
				in.locker.call, late)
		}
		return in.locker.value, nil
	}
	opts, err := in.config.lockerOptions()
	if err != nil {
		return nil, err
	}
	opts = append(opts, flat(options)...)
	var locker *redlock.Locker
	if len(in.config.Nodes) > 0 {
		locker, err = redlock.Open(in.config.Nodes, opts...)
	} else {
		locker, err = redlock.New(in.nodes, opts...)
	}
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(func(ctx context.Context) { closeLocker(ctx, locker, log) }))
	return locker, nil
}

func (in *inputs) newElector(
	m *module, locker *redlock.Locker, log logger, hooks []election.Option, options []registered[[]election.Option],
) (*election.Elector, error) {
	opts := append(in.config.electionOptions(), election.WithLogger(log.Logger),
		election.WithHooks(termlog.Hooks()))
	var err error
	m.elector, err = election.New(locker, in.config.Name, slices.Concat(opts, hooks, flat(options))...)
	m.campaign = campaign{log: log.Logger, observe: in.config.Observe}
	return m.elector, err
}

func (in *inputs) newScheduler(
	m *module, elector *election.Elector, log logger, hooks []scheduler.Option,
	options []registered[[]scheduler.Option],
) (*scheduler.Scheduler, error) {
	location, err := in.config.location()
	if err != nil {
		return nil, err
	}
	opts := []scheduler.Option{
		scheduler.WithLocation(location), scheduler.WithLogger(log.Logger), scheduler.WithMiddleware(m.wrap),
	}
	m.scheduler, err = scheduler.New(elector, slices.Concat(opts, hooks, flat(options))...)
	return m.scheduler, err
}

func flat[O any](options []registered[[]O]) []O {
	var all []O
	for _, r := range inOrder(options) {
		all = append(all, r.value...)
	}
	return all
}
