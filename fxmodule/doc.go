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
// Module needs a [Config], by fx.Supply or by [Settings], and nodes: addresses in the Config, for
// which it makes clients and closes them, or the application's own clients through [Node]. Both or
// neither is an error. It provides *redlock.Locker, *election.Elector and *scheduler.Scheduler, and
// nothing else.
//
// Jobs, callbacks and the middleware of all jobs come through [Job], [OnLeader] and [Middleware]. They, and whatever
// they depend on, may take the Locker, the Elector and the Scheduler. A *zap.Logger is used if the application provides
// one. [Hooks] and [Options] reach what the Config has no field for; [Locker] shares a Locker between elections.
//
// A second election in the same application is [Named], and [For] is how the helpers name it. A helper whose election is
// not in the application, a constructor that lacks a dependency, and a missing Config are errors of fx.New that name the
// helper and the file and line of its call. A parameter that needs a tag comes in a parameter object, a struct with
// fx.In: fx.Annotate does not fit in a helper.
//
// # Start
//
// The application starts at once, also with Redis away: a replica comes up as a follower.
//
// A process campaigns when it has a job or a callback. One that only takes the Elector or the Scheduler, to show who
// leads or to trigger jobs, never campaigns. Work may be added at any time, by [election.Elector.OnLeader] or
// [scheduler.Scheduler.Add]: then the campaign begins at once. It ends when the last of it is removed and has returned.
// With Config.Observe a process never campaigns, whatever it has.
//
// # Stop
//
// When the application stops, no tick starts any more, runs and callbacks finish while the lease is
// renewed, and then it is released; the next replica leads at once. All elections of the application drain at the same
// time. The order is:
//
//  1. the elections drain;
//  2. what jobs and callbacks depend on is stopped;
//  3. the Locker is closed, after every component that takes it, whatever the order of the modules.
//
// What an fx.Invoke adds, rather than a helper, is drained with the rest; but what it depends on may be built after the
// election, and then fx stops that first.
//
// Work that has not returned after Config.DrainTimeout, or shortly before the end of fx's stop timeout, is cut off: if
// it still does not return, the lease is left to run out, and the stop fails with election.ErrUndrained. With Redis away
// the stop takes a second longer at most, and does not fail.
//
// fx has one stop timeout for everything, 15 s unless fx.StopTimeout changes it, and skips the hooks that come after it.
// Components that stop before the elections use it up too. The drain timeout is granted in full if
//
//	drain timeout + stop margin + 4 node timeouts + 1 s  <  fx.StopTimeout  <  Kubernetes' grace period
//
// With the defaults that is 10 + 2 + 0.8 + 1 = 13.8 s, below fx's 15 s. The stop margin is TTL/5: with a TTL of 30 s the
// sum is 17.8 s: raise fx.StopTimeout, or work that has to be cut off gets less than the margin to return.
//
// Where the hook is skipped, or the process killed, the lease runs out by its TTL.
//
// # Panics
//
// A callback that panics ends its term; then the module logs the panic and stops the application, with exit code 1, so
// that everything else stops in order. The panic of a job is logged and stops nothing; that of a scheduler's hook on the
// goroutine of a run ends the process at once, as nobody else could recover it. With [election.WithPanicHandler],
// through [Options], the process goes on and campaigns again. An application that was stopped cannot be started again:
// its Locker is closed.
package redlockfx
