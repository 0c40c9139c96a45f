// Package redlocktest is for tests of services that use redlockfx: Redis nodes in memory that can be cut off, hang,
// lose replies or forget, and processes that lead.
//
// In a bubble of testing/synctest time is virtual, and a day of cron takes a moment, as the example shows. A process
// that leads at once is [Leader]; its context ends as it would in production:
//
//	r := redlocktest.Leader(t)
//	r.Elector.OnLeader(func(ctx context.Context) { ... })
//	r.Cut()
//
// # In a bubble
//
// It begins at midnight UTC. A job that the nodes have not met has no ticks in its first two seconds.
//
// What real time it takes, renewals take, and attempts while a majority is away. A longer TTL makes both fewer: have
// [redlock.WithTTL] of minutes for a day, and do not leave a process cut off for hours.
//
// Nodes that were made outside end the program: "called from inside and outside synctest bubble". A run that goes on
// long after its context is done ends the test: "deadlock: main bubble goroutine has exited". A goroutine that waits for
// something real, a server that listens or a database, lets no time pass, and the test hangs.
//
// # Everywhere
//
// All works outside of a bubble as well, in real time. A mistake, as a fault of a node that is not there, or one that
// makes no sense while it is stopped, ends the test and says why; after the end of the test it panics.
//
// The nodes are miniredis servers. They lack what those lack, replication and eviction for example: a last test
// against servers is none too many. The import silences go-redis's own log, which would tell of each failed dial.
package redlocktest
