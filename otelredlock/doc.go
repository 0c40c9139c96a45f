// Package otelredlock has OpenTelemetry metrics and traces of locks, elections and jobs, made from the hooks of
// packages redlock, election and scheduler.
//
//	telemetry, err := otelredlock.New() // with the global providers
//	...
//	locker, err := redlock.Open(nodes, redlock.WithHooks(telemetry.LockHooks()))
//	elector, err := election.New(locker, "billing", election.WithHooks(telemetry.ElectionHooks("billing")))
//	jobs, err := scheduler.New(elector,
//		scheduler.WithHooks(telemetry.JobHooks()), scheduler.WithMiddleware(telemetry.Middleware))
//
// # What holds
//
//   - The sum of redlock.election.leader over all processes is the number of leaders: 1, also 0 or 2 when that is
//     so. A process counts from the first moment of a term until the callbacks' contexts have ended, and no longer
//     than [election.Term.Valid]; before its first term and between terms it exports 0.
//   - A job that has any record in this process has a series of good runs and of the time of the last one, be they
//     0: "none" is never "no data".
//   - Attributes of metrics are names of elections, jobs and nodes, and words of a fixed list: never tokens, ticks
//     or identities.
//   - No hook waits for anything. Nothing is kept of a run that has ended.
//
// # Metrics
//
//	redlock.election.leader        up-down counter {leader}   redlock.election.name
//	redlock.election.transitions   counter {transition}       redlock.election.name, redlock.transition
//	redlock.lease.renew.duration   histogram s                redlock.election.name, error.type
//	redlock.lease.validity         gauge s                    redlock.election.name
//	redlock.node.errors            counter {error}            server.address, redlock.operation, error.type
//	redlock.node.guarded           up-down counter {node}     server.address
//	redlock.node.clock.jumps       counter {jump}             server.address
//	redlock.job.runs               counter {run}              redlock.job.name, redlock.run.outcome
//	redlock.job.last_good_run.time gauge s                    redlock.job.name
//	redlock.job.run.duration       histogram s                redlock.job.name, redlock.run.outcome
//	redlock.job.schedule.lag       histogram s                redlock.job.name
//	redlock.job.missed             counter {tick}             redlock.job.name, redlock.missed.reason
//	redlock.job.unclaimed          counter {attempt}          redlock.job.name
//
// Transitions are elected, and how terms end: stopped, resigned, panic, expired (not renewed by the stop deadline)
// and lost (gone or another's on a majority of nodes).
//
// Validity is what was left until the stop deadline after the last renewal, failed ones included; 0 if this process
// does not lead.
//
// Node errors are news, as in [redlock.Hooks], and not one for each call. server.address is the node as the
// Locker names it, its port included. A node is guarded while it grants nothing because it may have forgotten a lease.
//
// Outcomes of runs are ok, error, panic, timeout, lost_lease and skipped. timeout is an error that says that a
// deadline was exceeded: the job's Timeout, or one that Run has set itself. lost_lease is a run that failed after the
// lease was lost, or whose end nobody knows; where the process that lost it lives on, that one and the next leader
// may both count it. A run is counted when it ends. Its duration includes its retries, and lag is from the tick to its
// begin, both by the nodes' clock; runs that were lost or skipped have neither.
//
// The time of the last good run is the Unix time of its end, by the nodes' clock; 0 if this process had none. The
// largest of all processes is that of the job, and what a process that is gone has exported still counts. Watch that,
// and not the increase of good runs: the series of a new leader begins at 1, which is no increase.
//
// # Traces
//
// [Instruments.Middleware] makes one span, redlock.job, for each attempt at a run: a root of its own, which is in the
// context that Run gets. Its attributes are redlock.job.name, redlock.run.tick, redlock.run.term,
// redlock.run.attempt and redlock.run.outcome; errors and panics are events.
//
// Each has a link to its tick. No span has the context that it leads to, [TickContext], which is computed from
// [scheduler.Run.Key]: so it is the same in all attempts, on all replicas. Search for spans with a link to that
// trace to see them all. Services that have a job of the same name need not be kept apart by it, but by service.name.
//
// # Hooks of your own
//
// WithHooks takes one struct. Where you have hooks too, join them:
//
//	hooks := election.JoinHooks(telemetry.ElectionHooks("billing"), election.Hooks{
//		Elected: func(t *election.Term) { log.Print("leads") },
//	})
//
// redlock.JoinHooks and scheduler.JoinHooks do the same for theirs.
//
// # In fx
//
//	fx.Provide(func() (*otelredlock.Instruments, error) { return otelredlock.New() }),
//	redlockfx.Hooks((*otelredlock.Instruments).LockHooks),
//	redlockfx.Hooks((*otelredlock.Instruments).JobHooks),
//	redlockfx.Hooks(func(t *otelredlock.Instruments) election.Hooks { return t.ElectionHooks("billing") }),
//	redlockfx.Middleware(func(t *otelredlock.Instruments) scheduler.Middleware { return t.Middleware }),
//
// Each election that redlockfx.Named adds has hooks and middleware of its own, with redlockfx.For.
package otelredlock
