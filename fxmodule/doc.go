// Package redlockfx, in the folder fxmodule, wires a lock, an election and cron jobs into an fx application:
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
// Scheduler. Module logs to a *zap.Logger, or else to a *slog.Logger, if the application provides one. [Hooks] and [Options] set
// what the Config has no field for. The terms are recorded: see package termlog.
//
// An error at the start is in fx's log alone, so do not silence it: let fx.WithLogger log warnings and errors, at least.
//
// [Named] adds a second election to the same application, and [For] makes a helper apply to it. The Config of a second
// election, and the parts that it provides, have its name as a tag. [Locker] shares a Locker between elections:
//
//	redlockfx.Named("mail"),
//	fx.Supply(fx.Annotate(redlockfx.Config{Name: "mail"}, fx.ResultTags(`name:"mail"`))),
//	redlockfx.OnLeader(newMailer, redlockfx.For("mail")),
//
// fx.New fails if a helper's election is not in the application, a constructor lacks a dependency, or the Config is missing, with
// the file and line of the helper's call. Helpers do not accept fx.Annotate: use a parameter object (a struct with fx.In).
//
// # Start
//
// The application starts at once, even if Redis is down: a replica starts as a follower. A process campaigns from its first job or callback on, until the application stops; you may add work at any time. A process
// that only takes the Elector or the Scheduler, or has Config.Observe, never campaigns, and calls no hooks.
//
// # Stop
//
// When the application stops, no further tick starts. All elections drain at the same time: runs and callbacks finish while the
// lease is renewed, and then the next replica leads. After that the components that jobs and callbacks depend on are stopped, and
// at last the Locker is closed, whatever the order of the modules. The dependencies of work that an fx.Invoke adds, instead of a
// helper, may be stopped first.
//
// Work that has not returned after Config.DrainTimeout, or shortly before the end of fx's stop timeout, is cut off. If it still
// does not return, the lease is left to expire, and the stop fails with election.ErrUndrained.
//
// fx has one stop timeout for all hooks, 15 s unless fx.StopTimeout changes it, does not tell it to the module before the stop,
// and skips the hooks that come after it. So the drain is cut short unless
//
//	drain timeout + stop margin + 4 node timeouts + 1 s  <  fx.StopTimeout  <  Kubernetes' grace period
//
// With the defaults that is 10 + 2 + 0.8 + 1 = 13.8 s. If the hook is skipped, or the process killed, the lease expires.
//
// # Panics
//
// A callback that panics ends its term. Then the module logs the panic and stops the application in order, with exit code 1; with
// [election.WithPanicHandler], through [Options], it campaigns again. The panic of a job is logged and stops nothing. An
// application that was stopped cannot be started again, because its Locker is closed.
package redlockfx
