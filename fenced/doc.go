// Package fenced makes the effects of a job on a SQL database take place exactly once, over database/sql and any driver for
// PostgreSQL, MySQL, MariaDB or SQLite.
//
//	db, err := fenced.New(sqlDB, fenced.PostgreSQL)
//	...
//	err = db.Init(ctx) // or a migration of yours, with fenced.Schema
//	...
//	err = jobs.Add(scheduler.Job{
//		Name: "invoices", Spec: "0 2 * * *", AtLeastOnce: true, Retry: scheduler.Retry{Times: 5},
//		Run: fenced.Job(db, func(ctx context.Context, tx *sql.Tx, run scheduler.Run) error {
//			_, err := tx.ExecContext(ctx, `INSERT INTO invoices ...`)
//			return err
//		}),
//	})
//
// # Promise
//
// A run of a job has a token, which grows from leader to leader, and a key, which is the same for all attempts at one tick. [Tx]
// enforces both in the transaction that does the work:
//
//   - Of all transactions with one key, exactly one is committed. The others return [ErrDone].
//   - Once a resource has seen a token, no transaction with a smaller one is committed any more, and none is under way.
//     Such a transaction returns [ErrFenced].
//   - A commit whose answer is lost is not guessed: [Tx] finds out by the key, or returns [ErrUnknown].
//   - [DB.Clean] removes old keys. A key that may have been removed is refused ([ErrCleaned]), not run again.
//
// Exactly once applies to the effects within the transaction: rows, including those of a queue or an outbox in the same
// database. A mail that fn sends, or a write to another database, is not part of it.
//
// # Which ticks run
//
// The scheduler decides whether a tick is run at all. AtLeastOnce runs a tick again if its process died. A run that
// fails, as when the database is down, is retried as the job's Retry says, and is then recorded as failed. Ticks that
// nobody ran within the CatchUp window are recorded as missed.
//
// # Assumptions
//
//   - Tokens of one resource come from one election or lock, and grow: see the assumptions of package redlock.
//   - fn writes through its transaction alone, returns at the first error of a statement, closes its rows, and does not
//     end the transaction, by a method or by a statement.
//   - The database has one primary, and reads are not sent to a copy that lags.
//   - Nobody else writes to the two tables, and the database does not lose what it has committed. A failover to a copy that lacks
//     some transactions loses their keys together with their effects.
//
// # A leader that is paused within a transaction
//
// Such a leader keeps its lock, and the next leader waits for it. Have the database end such a transaction: set
// idle_in_transaction_session_timeout in PostgreSQL, idle_transaction_timeout in MariaDB, wait_timeout in MySQL, to a
// few seconds more than fn takes between two statements. SQLite has no such setting; a paused process keeps the file
// locked.
package fenced

// For maintainers: the protocol.
//
// Each resource has a row with the largest token it has seen, its fence. A transaction
//
//  1. locks the fence in shared mode if it has the holder's token, and inserts the key, in one statement;
//  2. calls fn;
//  3. commits.
//
// If the fence has a smaller token or does not exist, it is raised first, in a transaction of its own. Raising needs the
// exclusive lock, so it waits for every transaction of an earlier leader that has passed the first step. Transactions of one
// leader share the lock and run in parallel. SQLite has one writer at a time: there each transaction starts with a write.
