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
// A tick starts at most once over all replicas, whatever their clocks and leaders do: before a run starts,
// its tick is claimed on a majority of the nodes, which votes for each tick once and never takes a vote back.
// It is not lost in a failover: the next leader catches up with it, as [CatchUp] says. Between the claim and
// the end of a run its process may die. What then is a choice:
//
//	the process dies                            by default            with AtLeastOnce
//	before a majority has voted                 the next leader runs it
//	after that, before the run starts           lost                  runs, Attempt 2
//	in the run                                  lost                  runs again, Attempt 2
//	after the run, before its end is written    lost, though done     runs twice
//
// A process that leads again after it lost its term before the answers of its claim came still runs that tick, unless
// another leader has settled it: it alone knows that nothing was started. Where too few nodes can vote on a tick, as
// some are away and others have forgotten whether they did, it is asked for for five seconds at least, until the next
// one is due, and is then recorded as missed. A run under way when a majority forgets is lost if its process dies, also
// with AtLeastOnce: nobody can tell any more whether it was repeated.
//
// A lost tick is recorded, logged and told to [Hooks.Finished]. So "exactly once" is: at most once, and you
// hear of what is lost; or at least once, and [Run.Key] tells a repetition. A process that was paused can still
// be inside of a run when it wakes, while another leads: let the resource that is written to refuse a smaller
// [Run.Token] than the largest it has seen.
//
// It holds under the assumptions of package redlock, and if a node that forgets its data does not also set its
// clock back over a vote that it gave. A job that the nodes have never seen has no ticks in its first two
// seconds: as with a node that forgot, only ticks are voted for that cannot have been voted for before.
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
// What was claimed when the leader was asked to stop is still run. A new leader has the nodes promise not to
// vote for an earlier one any more, and learns from their answers which ticks are taken.
// [Scheduler.Shutdown] drains without ending the term.
//
// # Overlap
//
// A tick may come while a run of the same job is under way:
//
//	Skip     the tick is not run (the default)
//	Queue    it waits for the run's return; of several ticks the newest waits, or all with CatchUpAll
//	Replace  the run's context ends with ErrReplaced; otherwise like Queue
//	Allow    it runs beside the other
//
// A run is under way until its function has returned, whatever its context says. Over a change of leader a run
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
// within the same claim and Timeout, and not while draining.
//
// # From any replica
//
// [Scheduler.Jobs] and [Scheduler.History] read what the nodes know, also why a tick did not run.
// [Scheduler.Trigger], [Scheduler.Pause] and [Scheduler.Resume] write it; the leader hears of them at once.
//
// # Specs
//
// Five fields, or six with seconds in front, @hourly, @daily, @weekly, @monthly, @yearly or
// @every 1h30m; [Parse] has the whole dialect, and [Preview] shows the ticks. The zone is UTC if the
// spec (CRON_TZ=Europe/Rome), the job and [WithLocation] name none. Ticks are a function of spec
// and zone alone, the same on every replica: @every counts from the Unix epoch. What a zone's clock jumps over
// runs once; what it repeats runs once, if it is at a fixed time. A job whose spec or zone has changed has no
// past: its ticks begin with the change.
//
// # Why not robfig's runner
//
// Of github.com/robfig/cron only the parser is used. Its runner does not
// tell a job for which tick it runs, gives it no context and takes no error; it loses ticks
// without a word when it is late, sleeps through a change of the clock, and in its released version
// a job that panics once under SkipIfStillRunning is skipped for ever. Jobs written for it run here
// through [WrapCron].
package scheduler
