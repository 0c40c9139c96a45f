// Package redlock is a lock over an odd number of independent Redis masters, usually 1, 3 or 5; a majority of them
// decides. Winning the lock returns a [Lease], which has a deadline, a context that ends by then, and a fencing token.
//
//	locker, err := redlock.Open([]string{"r1:6379", "r2:6379", "r3:6379"})
//	...
//	err = locker.Do(ctx, "import", func(ctx context.Context, lease *redlock.Lease) error {
//		return work(ctx, lease.Token()) // ctx ends before anybody else can have the lock
//	})
//
// # Guarantees
//
//   - At most one lease of a name is valid at a time.
//   - The tokens of a name increase from grant to grant, even if nodes lose their data.
//   - A node that restarted, was flushed or promoted, or came back with older data grants nothing until MaxTTL has
//     passed. By then every lease that it may have lost has ended. A new node looks the same, so the very first start
//     waits for MaxTTL as well.
//   - A hung, dead or slow minority of nodes delays no call. It costs no lease that has been extended at least once;
//     before that, a lease may rest on a bare majority.
//   - An acquisition that failed or was canceled, and a lease that was released, leave no lock behind. Their records
//     are removed at most two node timeouts after the nodes answer again. On a node that does not answer, they expire
//     after the TTL.
//   - Every call has its own timeout. Every retry is bounded, spaced and jittered. [Locker.Close] leaves nothing
//     running, unless its error says so.
//
// # Assumptions
//
// The clocks of nodes and clients run at rates that differ by less than the drift (1 %). Node clocks must not be stepped. With
// three nodes or more, a step that is visible in a reply is detected, and after a step forward, that node's vote is ignored
// while leases last that it may have ended early. A step that is reverted between two replies goes unnoticed, and so does the
// promotion of a replica whose clock is behind, if no reply came in between. The clocks of a machine show for how long it was
// suspended; those of a virtual machine that its host pauses may not.
//
// All clients of a prefix use the same nodes, and only this library writes under the prefix. A node that is a failover group
// never has two masters at a time, and its replicas are read-only. No node is restored from a snapshot of its memory. Scripts
// may call INFO; nodes that do not permit it are refused unless [WithUnseenRestarts] is set.
//
// # What no lock can do
//
// A process can be paused inside your code and resume after its lease has run out and somebody else has the lock.
// [Lease.Valid] and the context report that at once, but only if the code checks them. [Lease.Token] closes this gap:
// the resource remembers the largest token it has seen and refuses smaller ones (SQL: UPDATE ... WHERE fence <=
// $token). A new holder must show the resource its token before it relies on the state of the resource.
//
// Locks are not reentrant. Work under a lease that asks for its lock again, with the context of that work, gets [ErrHeld] at
// once. With another context it waits like everybody else, for a lock that it holds itself. Without a deadline, [Locker.Acquire]
// and [Locker.Do] wait forever, also if no node answers: [Locker.Ready] says so beforehand.
//
// The package logs nothing and keeps no global state; [Locker.OnNode] reports what it observes.
package redlock

// For maintainers: the algorithm.
//
// The package implements the algorithm of the Redis page on distributed locks
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/), and settles what that page leaves open.
// There is one Lua script for each verb; the header of acquire.lua describes what a node stores.
//
// State. A node stores one hash per prefix, without a TTL. The hash holds a guard, and for each name a record with the
// fencing number, the deadline and the holder. If an eviction or an older data file loses a record, the guard is lost
// as well. So this costs availability, but no lock is granted twice. Policies that evict only keys with a TTL never
// touch the hash.
//
// Acquire. All nodes are asked at once. If a majority grants the lock, that makes the lease, unless its validity has
// already ended. Validity starts before the first byte is sent, and lasts for the TTL minus the drift minus 2 ms.
// Acquire is idempotent: the same value is granted again, so a repeated request does not block itself. A value left by
// an earlier attempt of the same call is replaced. Any other value belongs to another owner. Votes are counted per
// server identity: two addresses of one server have one vote, and an address that leads to several servers has none until
// one of them alone has answered for MaxTTL.
//
// Guard. The guard records the server's identity (its replication id, which changes with every restart and every
// promotion) and when that server was first seen. The granting script compares the guard with the server it runs on. If
// they differ or there is no guard, the script writes a new guard and grants nothing until MaxTTL has passed
// (ErrGuarded). Existing leases can still be extended and released. A server also gets a new replication id when its
// first replica or a backup connects; that guard is a false alarm.
//
// Token. Each node counts the grants of a name. The token is the largest number of the deciding majority. If the
// numbers differ, one more round raises them on a majority before anybody sees the token, so the next majority
// continues from there. A number that is missing or older than the guard starts from the node's clock in microseconds,
// which is ahead of every number the node has lost. Numbers are kept for a while after the hold (WithFenceRetention).
// If the clocks were set back, so that a token is ahead of them, that round also tells the nodes the token, and numbers of
// all locks continue above it.
//
// Extend. A majority must confirm that the lock is still ours. Nodes that have lost it are then repaired, with the same
// checks as for a grant; they have no vote in that round. Without a majority, the lease is lost or its state is unknown;
// an extension never acquires a lock again. Leases that are due together share one call.
//
// Release. A release is sent to a node only after that node has answered the grant, because it could otherwise overtake
// the grant. A release without an answer is repeated in the background. The holder's clock decides the outcome: a lease
// that was valid until its release was the only one, whoever holds the lock when the answers arrive. Every grant
// carries the time, by the node's own clock, at which the caller stops waiting. If a hung node reads the grant from its
// socket later, it does nothing.
//
// Time. Elapsed time is monotonic time plus time suspended. Every reply carries the node's clock. With three nodes or
// more, votes count only within a majority whose clocks agree (Settings.MaxClockSkew), and a node whose clock has moved
// forward relative to this process has no vote for some time.
//
// Waiting. Two nodes keep the line of the processes that wait for a lock. A release tells the first one, and also the
// second in case the first is gone; each further place has its turn 10 ms later. So only a few processes ask, however
// many wait, and they get the lock in turn. A process more than 10 ms away from the nodes may lose its turn to the next
// one. A timer covers messages that are not received. Within one process, callers queue behind one of them.
