// Package redlocktest tests services that use redlockfx. It has Redis nodes in memory that can be cut off, hang, lose
// replies or lose their data, and processes that use these nodes and lead.
//
//	nodes := redlocktest.New(t, 3)
//	locker := nodes.Process().Locker() // for code that makes its own elector
//	nodes.Cut(0, 1)                    // a majority is gone
//
// [Leader] returns a process that already leads:
//
//	r := redlocktest.Leader(t)
//	r.Elector.OnLeader(func(ctx context.Context) { ... })
//	r.Cut() // its context ends, as it would in production
//
// [Start] starts the same nodes without a test, for demos and benchmarks.
//
// # Virtual time
//
// In a bubble of testing/synctest time is virtual, and a day of cron takes a moment, as the example shows. A bubble
// begins at midnight UTC. A job that the nodes have not seen before misses the ticks of its first two seconds.
//
// Start the nodes inside the bubble, with the bubble's t. The usual mistakes look like this:
//
//   - "called from inside and outside synctest bubble": the nodes were started outside of the bubble.
//   - "deadlock: main bubble goroutine has exited": a run of a job continues long after its context has ended.
//   - No job runs: no replica campaigns before [Replica.Run] or [Replica.Lead].
//   - The test hangs: a goroutine waits for something real, such as a socket or a database, and no time passes.
//   - The test is slow: each renewal, and each attempt while a majority is unreachable, takes real time. For a day of
//     virtual time set [redlock.WithTTL] to minutes, and do not leave a process cut off for hours.
//
// # Mistakes
//
// A call that makes no sense fails the test and says why, for example a fault of a node that does not exist or is
// stopped. It panics with the same message if the nodes come from [Start], or if they are closed.
//
// # Limits
//
// The nodes are miniredis servers, which lack replication and eviction, for example. So test against real servers
// once, too. Importing this package silences the log of go-redis, which reports each failed dial.
package redlocktest
