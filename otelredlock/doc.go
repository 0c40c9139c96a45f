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
//   - Attributes of metrics are names of elections, jobs and nodes, and words from a fixed list. No hook blocks.
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
// [Instruments] says what each counts.
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
// Each election that redlockfx.Named adds needs its own, with redlockfx.For.
package otelredlock
