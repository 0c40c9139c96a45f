// Package redlockfx wires a lock, an election and cron jobs into an fx application. The folder is
// called fxmodule:
//
//	import redlockfx "github.com/redlockfx/redlockfx/fxmodule"
//
//	fx.New(
//		fx.Provide(zap.NewProduction, openDB),
//		fx.Supply(redlockfx.Config{Name: "billing", Nodes: []string{"r1:6379", "r2:6379", "r3:6379"}}),
//		redlockfx.Module,
//		redlockfx.Job(NewInvoiceJob), // func(*sql.DB, *redlock.Locker) (scheduler.Job, error)
//		redlockfx.OnLeader(func(ctx context.Context) { <-ctx.Done() }),
//	).Run()
//
// # Needs and provides
//
// Module needs a [Config] and nodes. If the Config has their addresses, Module makes the clients and closes them. Otherwise
// the application adds its own clients with [Node]. Both or neither is an error. Module provides *redlock.Locker,
// *election.Elector and *scheduler.Scheduler, and nothing else.
//
// [Job] and [OnLeader] add jobs and callbacks. These, and whatever they depend on, may take the Locker, the Elector and the
// Scheduler. Module logs to a *zap.Logger, or else to a *slog.Logger, if the application provides one; fx leaves it out, without an error, if the
// Logger's constructor lacks a dependency. [Hooks] and [Options] set what the Config has no field for, and an fx.Invoke
// that takes the Locker may call [redlock.Locker.OnNode]. The terms are recorded: see package termlog.
//
// [Named] adds a second election to the same application, and [For] makes a helper apply to it. The Config of a second
// election, and the parts that it provides, have its name as a tag. [Locker] shares a Locker between elections:
//
//	redlockfx.Named("mail"),
//	fx.Supply(fx.Annotate(redlockfx.Config{Name: "mail"}, fx.ResultTags(`name:"mail"`))),
//	redlockfx.OnLeader(newMailer, redlockfx.For("mail")),
//
// fx.New fails if a helper's election is not in the application, with the file and line of the helper's call. It also fails
// if a constructor lacks a dependency, or if the Config is missing. Put parameters that need a tag into a parameter object
// (a struct with fx.In), because helpers do not accept fx.Annotate.
//
// # Start
//
// The application starts at once, even if Redis is down: a replica starts as a follower.
//
// A process campaigns from its first job or callback on, until the application stops. You may add work at any time, with
// [election.Elector.OnLeader] or [scheduler.Scheduler.Add]. A process that only takes the Elector or the Scheduler, to show
// who leads or to trigger jobs, never campaigns, logs no problems of nodes, and calls no hooks. With Config.Observe that
// is so whatever work it has.
//
// # Stop
//
// When the application stops, no further tick starts. Runs and callbacks finish while the lease is renewed. Then the
// lease is released, and the next replica leads at once. All elections of the application drain at the same time. The
// order is:
//
//  1. the elections drain;
//  2. the components that jobs and callbacks depend on are stopped;
//  3. the Locker is closed, after every component that takes it, whatever the order of the modules.
//
// Work that an fx.Invoke adds, instead of a helper, drains with the rest. But its dependencies may be built after the
// election, and then fx stops them first.
//
// Work that has not returned after Config.DrainTimeout, or shortly before the end of fx's stop timeout, is cut off.
// If it still does not return, the lease is left to expire, and the stop fails with election.ErrUndrained. If Redis
// is down, the stop takes up to a second longer, and does not fail.
//
// fx has one stop timeout for all hooks, 15 s unless fx.StopTimeout changes it, and skips the hooks that come after
// it. Components that stop before the elections use it up too. The drain timeout is granted in full if
//
//	drain timeout + stop margin + 4 node timeouts + 1 s  <  fx.StopTimeout  <  Kubernetes' grace period
//
// With the defaults that is 10 + 2 + 0.8 + 1 = 13.8 s, below fx's 15 s. The stop margin is TTL/5, so with a TTL of 30
// s the sum is 17.8 s. Then raise fx.StopTimeout, or work that is cut off has less than the margin to return.
//
// If the hook is skipped, or the process killed, the lease expires after its TTL.
//
// # Panics
//
// A callback that panics ends its term. Then the module logs the panic and stops the application in order, with exit
// code 1. The panic of a job is logged and stops nothing. The panic of a scheduler's hook on the goroutine of a run
// ends the process at once, because nothing can recover it. With [election.WithPanicHandler], through [Options], the
// process continues and campaigns again. An application that was stopped cannot be started again, because its Locker
// is closed.
package redlockfx
