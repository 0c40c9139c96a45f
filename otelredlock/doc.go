// Package otelredlock makes OpenTelemetry metrics and traces of locks, elections and jobs from the hooks of packages
// election and scheduler, and from the events of redlock's nodes.
//
//	telemetry, err := otelredlock.New() // with the global providers
//	...
//	locker, err := redlock.Open(nodes)
//	locker.OnNode(telemetry.Node) // until the Locker is closed
//	elector, err := election.New(locker, "billing", election.WithHooks(telemetry.ElectionHooks("billing")))
//	jobs, err := scheduler.New(elector,
//		scheduler.WithHooks(telemetry.JobHooks()), scheduler.WithMiddleware(telemetry.Middleware))
//
// # Guarantees
//
//   - The sum of redlock.election.leader over all processes is the true number of leaders: usually 1, but it can be 0
//     or 2. A process counts from the first moment of a term until the callbacks' contexts have ended, and no longer
//     than [election.Term.Valid]. Before its first term and between terms it exports 0.
//   - A job that has any record in this process has series for its good runs and for the time of the last one, even
//     if they are 0. So "none" is never "no data".
//   - Attributes of metrics are names of elections, jobs and nodes, and words from a fixed list, never tokens, ticks
//     or identities.
//   - No hook blocks. Nothing about a run is kept after it has ended.
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
// Transitions are elected, and the ways in which a term ends: stopped, resigned, panic, expired (the lease was not
// renewed by the stop deadline) and lost (the lease was gone, or taken by another process, on a majority of nodes).
//
// Validity is the time left until the stop deadline after the last renewal, even if that failed. It is 0 if this
// process does not lead.
//
// Node errors count the events [redlock.NodeFails], [redlock.NodeProblem] and [redlock.NodeDenies], not each failed
// call. server.address is the node as the Locker names it, with its port. A node is guarded while it grants nothing
// because it may have lost a lease.
//
// Outcomes of runs are ok, error, panic, timeout, lost_lease, skipped and canceled. timeout means that the error reports an
// exceeded deadline: the job's Timeout, or one that Run has set itself. lost_lease is a run that failed after the lease
// was lost, or whose end is unknown. If the process that lost the lease still lives, both it and the next leader may
// count the run. A run is counted when it ends. Its duration includes its retries, and its lag is the time from the
// tick to its start, both by the nodes' clock. Runs that were lost or skipped have neither.
//
// The time of the last good run is the Unix time of its end, by the nodes' clock, or 0 if this process had none. A job's
// value is the largest over all processes, and exported values of ended processes still count. Alert on it, not on the
// increase of good runs, because the series of a new leader starts at 1, which is no increase.
//
// # Traces
//
// [Instruments.Middleware] makes one span, redlock.job, for each attempt at a run. It is a root span, and is in the
// context that Run gets. Its attributes are redlock.job.name, redlock.run.tick, redlock.run.term,
// redlock.run.attempt and redlock.run.outcome; errors and panics are events.
//
// Each span has a link to its tick. The link leads to [TickContext], which no span has. TickContext is computed from
// [scheduler.Run.Key], so it is the same for all attempts on all replicas. To see all of them, search for spans with a
// link to that trace. Services with a job of the same name may share it, so tell them apart by service.name.
//
// # Your own hooks
//
// If you have your own hooks too, give WithHooks once more: all of them are called.
//
// # In fx
//
//	fx.Provide(func() (*otelredlock.Instruments, error) { return otelredlock.New() }),
//	fx.Invoke(func(l *redlock.Locker, t *otelredlock.Instruments) { l.OnNode(t.Node) }),
//	redlockfx.Hooks((*otelredlock.Instruments).JobHooks),
//	redlockfx.Hooks(func(t *otelredlock.Instruments) election.Hooks { return t.ElectionHooks("billing") }),
//	redlockfx.Options(func(t *otelredlock.Instruments) []scheduler.Option {
//		return []scheduler.Option{scheduler.WithMiddleware(t.Middleware)}
//	}),
//
// Each election that redlockfx.Named adds needs its own hooks and middleware, with redlockfx.For.
package otelredlock
