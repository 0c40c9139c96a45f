// Package scheduler runs cron jobs in a service of many replicas: on the leader, and each tick once. This is a whole program:
//
//	job := scheduler.Job{Name: "report", Spec: "30 6 * * mon-fri", Run: func(ctx context.Context, run scheduler.Run) error { ... }}
//	err := scheduler.Serve(ctx, []string{"localhost:6379"}, "billing", job)
//
// [New] makes a Scheduler on an elector of yours. Every replica adds the same jobs. A tick is one planned instant of a job. A
// run is the job's execution for one tick. Jobs that are rows of a database are a [Source].
//
// # Once
//
// A tick starts at most once across all replicas, whatever their clocks and leaders do. Before a run starts, a majority of the
// nodes stores its start. The next leader catches up with ticks that came while nobody led, as [CatchUp] says, or records them
// as missed. If the process of a run dies, the job chooses what happens:
//
//	the process dies                            by default              with AtLeastOnce
//	before a majority has stored the start      runs as Attempt 1 (*)   runs as Attempt 1 (*)
//	after that, before the run starts           lost                    runs, with a larger Attempt
//	in the run                                  lost                    runs again, with a larger Attempt
//	after the run, before its end is stored     lost, though done       runs twice
//
// (*) if all nodes answer, or a majority has the state from before; otherwise the next row applies.
//
// A run that is cut off, because its leader stops or loses its lease, is [StateFailed] or [StateLost]. With AtLeastOnce it is
// [StateInterrupted], and the next leader runs it again. A lost tick is recorded, logged and passed to [Hooks.Finished]. So
// "exactly once" means one of two things: at most once, and you learn what was lost; or at least once, and [Run.Key]
// identifies a repetition. A process that was paused can still be inside a run when it wakes, so let the resource refuse a
// [Run.Token] smaller than the largest it has seen. For a SQL database, Job of package fenced checks both.
//
// # Assumptions
//
// Those of package redlock. In addition, a node that loses its state must not set its clock back at the same time.
//
// # The context of a run
//
// It ends before another replica can lead. It also ends with the job's Timeout, when an operator cancels the run, and when the
// leader was asked to stop and the time to drain is over: see [Job].Run. A run should return soon after.
//
// # Whose clock
//
// Ticks are instants of the nodes' clocks. A replica whose own clock is wrong still runs every tick once and on time, and
// reports the difference ([Hooks.ClockSkew]). The zone is UTC unless the spec (CRON_TZ=Europe/Rome), the job or [WithLocation]
// names one. [Parse] describes specs, and [Preview] shows the ticks.
//
// # From any replica
//
// [Scheduler.Jobs], [Scheduler.Status] and [Scheduler.History] show the newest that the nodes say, including why a tick did not
// run. [Scheduler.Trigger], [Scheduler.Rerun], [Scheduler.Cancel], [Scheduler.Pause] and [Scheduler.Resume] leave a request on
// the nodes, which notify the leader. A trigger that nobody could run for an hour is recorded as missed. [Scheduler.Forget]
// deletes a job that no replica has any more.
package scheduler

// For maintainers: how a term goes on.
//
//	           won                 asked to stop              runs have returned
//	following ------> leading --------------------> draining --------------------> following
//	no timer          ticks start runs              runs go on, nothing starts     lease released
//	    ^                |                              |
//	    '----------------+------------------------------'
//	      lost, or the time to drain is over: runs are canceled
//
// A run whose start is being stored when the leader is asked to stop still runs. A new leader has a majority of the nodes
// promise to store nothing for earlier leaders, and goes on from the newest state of each job that they know. A leader that
// learns of a later one ends its term (Hooks.Fenced). Scheduler.Shutdown drains without ending the term.
//
// Only the parser of github.com/robfig/cron is used. Its runner does not tell a job which tick it runs for, gives it no context
// and takes no error. It drops ticks silently when it is late, and does not notice that the clock was set.
