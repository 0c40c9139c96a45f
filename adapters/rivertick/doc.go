// Package rivertick makes a job of package scheduler insert a job into River, exactly once for each tick that runs:
//
//	db, err := fenced.New(conns, fenced.PostgreSQL)
//	client, err := river.NewClient(riverdatabasesql.New(conns), &river.Config{}) // inserts only
//	insert, err := rivertick.Job(db, client, args, &river.InsertOpts{Queue: "billing"})
//	...
//	err = jobs.Add(scheduler.Job{
//		Name: "invoices", Spec: "0 2 * * *", AtLeastOnce: true, Retry: scheduler.Retry{Times: 5}, Run: insert,
//	})
//
// # Promise
//
// The insert is part of a transaction of package fenced, which also records the key of the run and checks its token.
// So it has the promises of [fenced.Tx]: of all attempts at a tick, exactly one inserts a job; a deposed leader
// inserts none; and if the answer to a commit is lost, the key shows whether it was committed. None of this depends
// on how long River keeps its rows, or on its unique jobs.
//
// River works a job at least once: it repeats the job after an error, and after the worker's process has died. The
// worker must tolerate that. There, [Key] returns the key of the run, which serves as the idempotency key. A worker
// that does its work and completes the job in one transaction ([river.JobCompleteTx]) has exactly one effect per tick
// from end to end.
//
// # Services on pgx
//
// Package fenced needs a transaction of database/sql. A service with a pgx pool opens a sql.DB over that pool, and
// keeps its workers on riverpgxv5. Both use the same tables:
//
//	conns := stdlib.OpenDBFromPool(pool)
//	inserts, err := river.NewClient(riverdatabasesql.New(conns), &river.Config{})
//	workers, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Queues: ..., Workers: ...})
//
// # Failures
//
// If the database is down, the run fails, and is retried as the job's Retry says. A tick that failed in every retry
// is recorded as failed, and has no job.
package rivertick
