// Package redlockfx wires a lock, an election and cron jobs into an fx application. The folder is
// called fxmodule:
//
//	import redlockfx "github.com/redlockfx/redlockfx/fxmodule"
//
//	fx.New(
//		fx.Provide(zap.NewProduction),
//		fx.Supply(redlockfx.Config{Name: "billing", Nodes: []string{"r1:6379", "r2:6379", "r3:6379"}}),
//		redlockfx.Module,
//		redlockfx.Job(NewInvoiceJob), // func(*sql.DB, ...) (scheduler.Job, error)
//		redlockfx.OnLeader(func(ctx context.Context) { ... }),
//	).Run()
//
// # Needs and provides
//
// Module needs a [Config], by fx.Supply or by [Settings], and nodes: addresses in the Config, for
// which it makes clients and closes them, or the application's own clients through [Node]. Both or
// neither is an error. It takes a *zap.Logger, redlock.Hooks, election.Hooks and scheduler.Hooks if there are
// any. It provides *redlock.Locker, *election.Elector and *scheduler.Scheduler, and nothing else.
//
// Jobs, callbacks and what wraps all jobs come through [Job], [OnLeader] and [Middleware]. They are functions and
// not group tags because fx says nothing about a tag that is misspelt. A second election in the same application
// is [Named], and [For] is how the helpers name it.
//
// # Start
//
// The application starts at once, also with Redis away: a replica comes up as a follower. It
// campaigns if there is something to do: a job, a callback, or somebody who asked for the Elector
// or the Scheduler. If there is nothing, and nobody asked for the Locker either, a warning says so.
//
// # Stop
//
// What jobs and callbacks depend on was built before them and is stopped after them. When the
// application stops, no tick starts any more, runs and callbacks finish while the lease is renewed,
// and it is released; the next replica leads at once. What has not returned after
// Config.DrainTimeout, or shortly before the end of fx's stop timeout, is cut off: if it still
// does not return, the lease is left to run out, and the stop fails with election.ErrUndrained. With
// Redis away the stop takes a second longer at most, and does not fail.
//
// fx has one stop timeout for everything, 15 s unless fx.StopTimeout changes it, and skips the hooks
// that come after it. So keep
//
//	drain timeout (10 s)  <  fx.StopTimeout (15 s)  <  Kubernetes' grace period (30 s)
//
// Where the hook is skipped, or the process killed, the lease runs out by its TTL.
package redlockfx
