// Package asynqtick makes a job of package scheduler put a task into a queue of asynq, once for each tick that runs:
//
//	send, err := asynqtick.Job(client, "invoices:send", 72*time.Hour, payload, asynq.Queue("billing"))
//	...
//	err = jobs.Add(scheduler.Job{
//		Name: "invoices", Spec: "0 2 * * *", AtLeastOnce: true, Retry: scheduler.Retry{Times: 5}, Run: send,
//	})
//
// # Promise
//
// The ID of the task is the key of the run ([scheduler.Run.Key]), which is the same for all attempts at one tick. asynq
// refuses a second task with that ID, and Job treats the refusal as success. So it does not matter how often a tick is
// attempted, by a retry after a lost answer or by the next leader after a kill. With AtLeastOnce, the tick's task is
// enqueued exactly once.
//
// The handler may run more than once, because asynq processes a task at least once: it calls the handler again after
// an error, and after its own process has died. The handler must tolerate that. There, [asynq.GetTaskID] returns the
// key of the run, which serves as the idempotency key.
//
// # How long an ID is known
//
// asynq knows an ID as long as it keeps the task:
//
//	scheduled, pending, active, to be retried   always
//	completed                                   for the retention, from its completion
//	archived, because all retries failed        for 90 days, or until 10,000 later ones are archived in that queue
//	deleted, or revoked with RevokeTask         not at all
//
// A task is completed after its tick was due. So an ID is known at least until the retention has passed since the
// tick, unless the task is archived and 10,000 later ones are archived before then. A second or later attempt may find
// that an earlier one has enqueued the task. If it comes after the retention has passed, or less than a minute before,
// Job does not enqueue the task and returns [ErrTooOld]. The scheduler then records the tick as failed. A first attempt
// (Attempt 1) has no predecessor, so its task is enqueued no matter how late it is.
//
// How late can a further attempt be? The window of CatchUp limits only the first attempts. The pauses of Retry come
// on top. With AtLeastOnce, the next leader runs an interrupted tick again, no matter how long nobody has led or the
// job was paused. So choose a retention of at least the sum of the window, the retries, and the longest outage or
// pause after which a tick is still wanted. Every completed task stays in the memory of the queue's Redis for that
// long.
//
// # Failures
//
// If the queue's Redis is down, the run fails, and is retried as the job's Retry says. After that it is recorded as
// failed. The scheduler stores the record on its own nodes, so the record is safe if they are well. If the queue's
// Redis hangs, a run lasts as long as the client's timeouts, because asynq's client does not end a call with its
// context.
//
// A task that fails in asynq stays there, even when it is archived: no attempt of its tick enqueues it again.
//
// # Assumptions
//
//   - The queue's Redis does not lose writes that it has acknowledged: it persists them, evicts nothing
//     (maxmemory-policy noeviction), and never fails over to a lagging copy. Otherwise it loses tasks, or their IDs.
//   - All attempts at a tick go to the same queue, because an ID is known in its own queue only. Services that share
//     a queue have jobs with different names.
//   - The clocks of the scheduler's replicas and of asynq's servers are less than a minute apart.
//   - No process is paused for longer than the retention between the check of its context and the write.
//   - The assumptions of package scheduler.
package asynqtick
