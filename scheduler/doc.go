// Package scheduler runs cron jobs in a service of many replicas: on the leader, and each tick once.
//
//	s, err := scheduler.New(elector, scheduler.WithLogger(log))
//	...
//	err = s.Add(scheduler.Job{
//		Name: "report", Spec: "30 6 * * mon-fri", Timeout: 10 * time.Minute,
//		Run: func(ctx context.Context, run scheduler.Run) error { ... },
//	})
//	...
//	err = elector.Run(ctx) // ticks while it leads
//
// Every replica adds the same jobs. A tick is one planned instant of a job, a run is the execution
// for one tick.
//
// # Once
//
// A tick starts at most once over all replicas, whatever their clocks and leaders do. Before a run starts, a majority of the
// nodes has stored that it begins, and they serve one leader only: a new one has a majority promise to refuse the one before.
// Ticks are not lost in a failover: the next leader catches up with them, as [CatchUp] says. Between the write that opens a
// run and its end the process may die. What then is a choice:
//
//	the process dies                              by default             with AtLeastOnce
//	before a majority has stored the start        the next leader runs it
//	after that, before the run starts             lost                   runs, Attempt 2
//	in the run                                    lost                   runs again, Attempt 2
//	after the run, before its end is stored       lost, though done      runs twice
//
// In the first case the next leader must see that no majority can have stored the start. It does if all nodes answer, or if a
// majority has the same older state; else the tick is recorded as lost. A process that leads again after it lost its term
// before the answers came starts such a run, unless another leader has led in between: it alone knows that nothing was started.
// A run with AtLeastOnce that a deploy cuts off is recorded as [StateInterrupted], and the next leader runs it again.
//
// A lost tick is recorded, logged and passed to [Hooks.Finished]. So "exactly once" is: at most once, and you hear of what is
// lost; or at least once, and [Run.Key] tells a repetition. A process that was paused can still be inside a run when it wakes,
// while another leads: let the resource that is written to refuse a smaller [Run.Token] than the largest it has seen.
//
// # Nodes that lose their state
//
// One node of three that restarts or is wiped stops nothing: the leader goes on with the others, and writes all jobs to that
// node again. If fewer than a majority still know a job, nobody can tell whether the ticks from the last one that is known to
// two seconds after the loss have run: they are recorded as missed. With AtLeastOnce the newest of them runs again. If a
// majority has lost all that it knew of a job, its pause and its history are gone, and its ticks begin anew; the log,
// [Hooks.Forgotten] and [Status] say so.
//
// # Assumptions
//
// Those of package redlock. Also, a node that loses its state does not set its clock back over a leader that it has served.
//
// # Whose clock
//
// Ticks are instants of the nodes' clocks, of which every answer tells. A replica whose own clock is wrong, or
// is set, runs every tick once and on time, and says so ([Hooks.ClockSkew]).
//
// # States
//
//	           won                 asked to stop              runs have returned
//	following ------> leading --------------------> draining --------------------> following
//	no timer          ticks start runs              runs go on, nothing starts     lease released
//	    ^                |                              |
//	    '----------------+------------------------------'
//	      lost, or the time to drain is over: runs are cancelled
//
// A run whose start was being stored when the leader was asked to stop is still started. [Scheduler.Shutdown] drains too, and
// then resigns.
//
// # Overlap
//
// A tick may come while a run of the same job is under way:
//
//	Skip     the tick is not run if a run was under way when it was due (the default)
//	Queue    it waits for the run's return; of several ticks the newest waits, or all with CatchUpAll
//	Replace  the run's context ends with ErrReplaced; otherwise like Queue
//	Allow    it runs beside the other
//
// A tick that waits under Queue or Replace is not too late for the job's [CatchUp], however long it waits. A run is under way
// until its function has returned, whatever its context says. Over a change of leader a run
// that goes on holds a lease of its own, and the first run of the next leader waits for that, up to MaxTTL where
// the overlap is Skip.
//
// # The context of a run
//
// It has the values of the term's context, [election.TermFrom] included, and ends early for one of
// these causes, as told by context.Cause:
//
//	election.ErrLost           the lease was lost; nobody else leads within the stop margin
//	election.ErrStopped,       the leader was to stop, or gave up, and the time to drain is over
//	election.ErrResigned
//	context.DeadlineExceeded   the job's Timeout
//	ErrReplaced                the job's Overlap is Replace, and another tick came
//
// A run is not cancelled when the leader is asked to stop, only when the time to drain is over. It fails with
// the error, the panic or the runtime.Goexit of its function, which disturbs nothing else. [Retry] tries again
// within the same run and Timeout, and not while draining.
//
// # From any replica
//
// [Scheduler.Jobs], [Scheduler.JobsAfter], [Scheduler.Status] and [Scheduler.History] read what the nodes know, also why a tick
// did not run. [Scheduler.Trigger], [Scheduler.Pause] and [Scheduler.Resume] write it; the leader learns of them at once. A
// trigger that nobody could run within an hour expires, and is recorded as missed. [Scheduler.Forget] deletes a job.
//
// # Specs
//
// Five fields, or six with seconds in front, @hourly, @daily, @weekly, @monthly, @yearly or
// @every 1h30m; [Parse] has the whole dialect, and [Preview] shows the ticks. The zone is UTC if the
// spec (CRON_TZ=Europe/Rome), the job and [WithLocation] name none. Ticks are a function of spec
// and zone alone, the same on every replica: @every counts from the Unix epoch. What a zone's clock jumps over
// runs once; what it repeats runs once, if it is at a fixed time. A job whose spec or zone has changed has no
// past: its ticks begin with the change, and what is dropped is recorded as missed. Another way to write the same spec is no
// change.
//
// # Why not robfig's runner
//
// Of github.com/robfig/cron only the parser is used. Its runner does not
// tell a job for which tick it runs, gives it no context and takes no error; it loses ticks
// without a word when it is late, sleeps through a change of the clock, and in its released version
// a job that panics once under SkipIfStillRunning is skipped for ever. Jobs written for it run here
// through [WrapCron].
package scheduler
