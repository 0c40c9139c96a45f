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
// Every replica adds the same jobs. A tick is one planned instant of a job. A run is the job's execution for one tick.
//
// # Once
//
// A tick starts at most once across all replicas, whatever their clocks and leaders do. Before a run starts, a majority
// of the nodes stores its start. A node that has promised a later leader stores nothing for an earlier one. A failover
// does not lose the tick: the next leader catches up with it, as [CatchUp] says. If the process of a run dies, the job
// chooses what happens:
//
//	the process dies                            by default              with AtLeastOnce
//	before a majority has stored the start      runs as Attempt 1 (*)   runs as Attempt 1 (*)
//	after that, before the run starts           lost                    runs, with a larger Attempt
//	in the run                                  lost                    runs again, with a larger Attempt
//	after the run, before its end is stored     lost, though done       runs twice
//
// (*) The next leader can tell that the run has not started if all nodes answer, or if a majority has the state from
// before. It waits up to two seconds for such answers. Otherwise the run may have started, and the next row applies. That is
// so too if the process lives, has lost its term before the run starts, and leads again.
//
// A tick that kills each process that runs it is given up after [Job].MaxAttempts processes, with growing pauses before.
//
// There are two more cases:
//
//   - A run is cut off because its leader stops, as in a deploy, or loses its lease. With AtLeastOnce it is recorded as
//     [StateInterrupted], and the next leader runs it again. By default it is [StateFailed] or, if the lease was lost,
//     [StateLost].
//   - Too few nodes store the start of a tick. The leader retries until enough do. If a newer tick takes its place, or the
//     tick is too old for CatchUp, the leader records the tick as missed.
//
// A lost tick is recorded, logged and passed to [Hooks.Finished]. So "exactly once" means one of two things: at most
// once, and you learn what was lost; or at least once, and [Run.Key] identifies a repetition. A process that was paused
// can still be inside a run when it wakes, while another one leads. So let the resource that the run writes to refuse a
// [Run.Token] smaller than the largest it has seen. For a SQL database, Job of package fenced checks both. With
// AtLeastOnce, the effects of its transaction then take place exactly once for each tick that is run.
//
// # Assumptions
//
// The promises hold under the assumptions of package redlock. In addition, a node that loses its state must not set its
// clock back at the same time.
//
// # Nodes that lose their state
//
// A node that restarts, is flushed or is promoted may have lost what it stored.
//
//   - One node of three, or two of five: ticks go on. The leader notices within a third of the longest TTL, and two
//     seconds later writes the jobs to that node again. Restart the next node after that.
//   - A majority, or one node of three while another one is down: the leader waits for the other nodes, for as long as
//     the
//     restart guard lasts, and goes on from what they know. Ticks up to two seconds after the last restart may have run.
//     The leader records those that are not known to have run as missed. With AtLeastOnce it runs the newest of them again,
//     if that is within the catch-up window.
//   - Every node that knew a job: the job starts like a new one. Its ticks count from then; its pause and history are gone.
//
// If a majority has lost a job, the leader logs an error, calls [Hooks.DataLost] and sets [Status].DataLost. If no node
// knows the job any more, a leader notices the loss only if its process has led with the job before.
//
// # Whose clock
//
// Ticks are instants of the nodes' clocks, which every reply of a node includes. A replica whose own clock is wrong, or
// is set, still runs every tick once and on time, and reports the difference ([Hooks.ClockSkew]).
//
// # States
//
//	           won                 asked to stop              runs have returned
//	following ------> leading --------------------> draining --------------------> following
//	no timer          ticks start runs              runs go on, nothing starts     lease released
//	    ^                |                              |
//	    '----------------+------------------------------'
//	      lost, or the time to drain is over: runs are canceled
//
// A run whose start is being stored when the leader is asked to stop still runs. A new leader has a majority of the
// nodes promise to store nothing for earlier leaders, and goes on from the newest state of each job that they know. A
// leader that learns of a later one ends its term ([Hooks.Fenced]). [Scheduler.Shutdown] drains without ending the term.
//
// # Overlap
//
// A tick may come while a run of the same job is under way:
//
//	Skip     the tick is not run (the default)
//	Queue    it waits for the run's return; of several ticks the newest waits, or all with CatchUpAll
//	Replace  the run's context ends with ErrReplaced; otherwise like Queue
//	Allow    it runs alongside the other
//
// What counts is whether a run was under way at the instant when the tick was due. A tick that comes between two runs, and
// waits for a leader or for the nodes, is not skipped. A run is under way until its function has returned, whatever its
// context says. It counts as under way in the pauses before its retries too: Skip skips ticks that come meanwhile.
// Replace ends such a pause, and the run has failed. Ticks may wait under Queue or Replace for as long as the runs take:
// the window of CatchUp does not apply to them.
//
// All this holds across changes of leader too. A run that goes on after its term holds a lease of its own. The first
// run of the next leader waits for that lease, and ticks that come meanwhile are not skipped because of the wait. If the
// lease is still held after MaxTTL plus one second, a live run has extended it. Then Skip skips the ticks that came
// before the wait.
//
// # The context of a run
//
// It has the values of the term's context, including the term itself ([election.TermFrom]), and ends early for one of
// these causes, which context.Cause returns:
//
//	election.ErrLost           the lease was lost; nobody else leads within the stop margin
//	election.ErrStopped,       the leader was asked to stop, or resigned, and the time to drain is over
//	election.ErrResigned
//	context.DeadlineExceeded   the job's Timeout, which the text of the cause names
//	ErrReplaced                the job's Overlap is Replace, and another tick came
//
// A run is not canceled when the leader is asked to stop, but only when the time to drain is over. It fails with the
// error, the panic or the runtime.Goexit of its function, which disturbs nothing else.
//
// After an error or a panic, [Retry] tries again. In the pause before that, nothing is under way in any process: the nodes
// know the number of the next attempt and when it may begin. So a leader that stops, or dies, in a pause drops no retry.
// The next leader makes it, as it does if an attempt fails while its leader drains. The Timeout covers the attempts and
// pauses of one leader, and begins again with the next one. A job that is removed makes no retry.
//
// A run that has not returned a second after its Timeout is an overrun. Nothing can end it from outside: it is under way until
// its function returns or its process ends. It is logged again and again, and passed to [Hooks.Overrun]. [Status].Overrun and
// the history show it on every replica. If the function returns nil after its Timeout, the run is [StateOK], and
// [Record].Err says that it was late.
//
// # From any replica
//
// [Scheduler.Jobs], [Scheduler.JobsAfter], [Scheduler.Status] and [Scheduler.History] show the newest that the nodes say,
// including why a tick did not run. A single node with wrong data can show something wrong; nothing is decided by it. A row of the
// history is a run, or a range of ticks that did not run ([Record].Ticks, From).
//
// [Scheduler.Trigger], [Scheduler.Pause] and [Scheduler.Resume] leave a request on the nodes, and the nodes notify the leader, which
// applies it.
// A trigger that nobody could run for an hour expires, and is recorded as missed. [Scheduler.Forget] deletes a job that no
// replica has any more. While the leader has the job, Forget returns [ErrJobInUse].
//
// # Sources
//
// A [Source] is a set of jobs that comes from elsewhere, such as the rows of a table that customers change. Every replica adds
// the source ([Scheduler.AddSource]), and only the leader loads it: when its term begins, then every minute or so, and when
// somebody has called [Scheduler.Refresh], as after a change of a row. A row "acme" of the source "tenants" is the job
// "tenants/acme", and differs from other jobs only in where it comes from.
//
// The source is a job too, "tenants", whose runs are the loads. So what this text says of runs holds for loads: they have a
// history, hooks and a place on the page. While the source is paused, its jobs stay as they are, but for the first load of a
// term.
//
//   - Until the first load of a term has returned, the leader does not know which jobs it has. Ticks wait ([Status].Waiting
//     says "for its source"), and are then caught up with as CatchUp says. [Scheduler.Forget] deletes no job of the election
//     meanwhile.
//   - A load that returns an error, panics, or takes longer than Every leaves the jobs as they are. It is tried again after a
//     second, then after pauses that double, and with the next tick of the source. If that lasts for a minute,
//     [election.Elector.Check] says so.
//   - A load that ignores its context is under way until it returns. This process begins no second one beside it. Like any
//     other run, it is named while a term that ends waits for it, and the lease is not released before the drain timeout. The
//     next leader, in another process, does not wait for it.
//   - A bad row is refused: the run of the load fails, and its error names the row. Its job stays as it was, and all other rows
//     apply. The same goes for rows of one name. A leader that has only ever seen the bad row does not have the job.
//   - A row that is gone ends the ticks of its job at once. A run under way goes on, and is then not retried. The nodes forget
//     the job a day to 25 hours later. If the row is there again before, the job keeps its history and its pause, and ticks
//     that came meanwhile do not run.
//   - A row that has changed only in its Run is not a change of the job: the next attempt calls the new one. If the spec has
//     changed, see below.
//
// # Specs
//
// A spec has five fields, or six with seconds in front, or is @hourly, @daily, @weekly, @monthly, @yearly,
// @every 1h30m or @at 2026-12-01T09:00:00Z. [Parse] describes the whole dialect, and [Preview] shows the ticks. The zone is UTC if neither the spec
// (CRON_TZ=Europe/Rome) nor the job nor [WithLocation] names one. Ticks depend on the spec, the zone and the zone data alone:
// @every counts from the Unix epoch. Times that a zone's clock jumps over run once. Times that it repeats run once if the
// spec names fixed times.
//
// If replicas have different zone data, as after a government has moved the clock, the leader's apply. The nodes keep
// up to which local time a job's ticks are settled, so a local time does not run again when a replica with other data
// leads: its second tick is recorded as missed. A local time that was over by its data does not run. The log names the
// zone. A spec that fires in every hour follows real time instead.
//
// If the spec or zone of a job changes, its new ticks begin with the change. A tick of the old spec that has come and has not run
// still runs if the new spec has it as well, and is otherwise recorded as missed. A spec that is only written in another way, as "0 0 * * *" for "@daily" or 1,2,3 for
// 1-3, is not a change: what counts are the values of its fields. Nor is another name of UTC, such as Etc/UTC; another name
// of any other zone is a change. So is a switch between plain times of day and a range or step, as from "0 9,10 * * *" to
// "0 9-10 * * *", because [Parse] treats the two differently when a clock is set back.
//
// A job with @at has one tick. It is like any other one: if nobody leads then, [CatchUp] says for how long it still runs, and then
// it is missed. The nodes keep that it has come, so it does not come again after a restart. A deploy after the tick changes nothing:
// the spec is still valid, and the job has no tick any more. A job that the nodes do not know yet has only ticks that come after it
// was added, so a job with @at must be deployed before its tick.
//
// What no spec can say, such as the working days of a country, is a [Job].Schedule: any schedule of robfig/cron's interface. Then
// Spec is the text by which replicas know it: it is a change of the job if the text changes, and no change if it does not.
//
// # Why not robfig's runner
//
// This package uses only the parser of github.com/robfig/cron. Its runner does not tell a job which tick it runs for,
// gives it no context and takes no error. It drops ticks silently when it is late, and does not notice that the clock
// was set. In its released version, a job that panics once under SkipIfStillRunning is skipped forever. Jobs written
// for it run here through [WrapCron].
package scheduler
