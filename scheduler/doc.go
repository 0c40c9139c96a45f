// Package scheduler runs cron jobs in a service of many replicas: on the leader, once per tick.
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
// # Once per tick
//
// Only the leader runs ticks: outside of a term there is not even a timer. Within a term each tick
// is started at most once, also when the clock is set back. A new leader begins with the first tick
// after its own present.
//
//   - A tick is not run by two leaders as long as the replicas share a clock. A new leader whose
//     clock is behind that of the old one runs the ticks in between again.
//   - Ticks that fall while nobody leads, or while the leader drains, are not made up for. Nor are
//     those that the new leader's clock, ahead of the old one's, has passed.
//   - A run that was cut off by the loss of its term is not repeated.
//   - A process that was paused can still be inside of a run when it wakes, while another leads.
//     That is what [Run.Token] is for: let the resource that is written to refuse a smaller token
//     than the largest it has seen. [Run.Key] names the tick, to recognise one that came twice.
//
// A tick starts late if the process was busy, paused or suspended. When several ticks of a job are
// due by then, only the newest runs, and a warning tells how many were skipped. The wall clock is
// read every 30 seconds at least, so a change of it is noticed by then.
//
// # States
//
//	           won                asked to stop              runs have returned
//	following ------> leading --------------------> draining --------------------> following
//	no timer          ticks start runs              runs go on, nothing starts     lease released
//	    ^                |                              |
//	    '----------------+------------------------------'
//	      lost, or the time to drain is over: runs are cancelled
//
// [Scheduler.Shutdown] drains without ending the term.
//
// # Overlap
//
// A tick may come while a run of the same job is under way:
//
//	Skip     the tick is not run (the default)
//	Queue    it waits for the run's return; of several ticks the newest waits
//	Replace  the run's context ends with ErrReplaced, and the tick waits for its return; of several
//	         ticks the newest waits
//	Allow    it runs beside the other
//
// A run is under way until its function has returned, whatever its context says: what ignores its
// context holds up Skip, Queue and Replace, and the handover to the next leader. Each tick that is
// not run is logged with the reason.
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
// A run is not cancelled when the leader is asked to stop, only when the time to drain is over.
//
// # Errors, panics and retries
//
// A run fails with the error, the panic or the runtime.Goexit of its function; that is logged, and
// disturbs neither other runs nor the ticks to come. An error or a panic is tried again as [Retry]
// says: within the same run, for the same tick, under the same Timeout, and not while draining.
//
// # Specs
//
// Five fields, or six with seconds in front, @hourly, @daily, @weekly, @monthly, @yearly or
// @every 1h30m; [Parse] has the whole dialect, and [Next] shows the ticks. The zone is UTC if the
// spec (CRON_TZ=Europe/Rome), the job and [WithLocation] name none. Ticks are a function of spec
// and zone alone, the same on every replica: @every counts from the Unix epoch, not from the start
// of a process. What a zone's clock jumps over runs once; what it repeats runs once, if it is at a
// fixed time.
//
// # Why not robfig's runner
//
// Of github.com/robfig/cron only the parser and the field matching are used. Its runner does not
// tell a job for which tick it runs, gives it no context and takes no error; it loses ticks
// without a word when it is late, sleeps through a change of the clock, and in its released version
// a job that panics once under SkipIfStillRunning is skipped for ever. Jobs written for it run here
// through [Wrap].
package scheduler
