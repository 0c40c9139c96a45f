// Package redlock is a lock over 1, 3 or 5 independent Redis masters, of which a majority decides. A lock that was won
// is a [Lease]: it has a deadline, a context that ends there, and a fencing token.
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
//   - The tokens of a name increase from grant to grant, also if nodes lose their data.
//   - A node that restarted, was flushed or promoted, or came back with older data grants nothing until MaxTTL has
//     passed: every lease that it may have lost has ended by then. A new node looks the same, so the first start waits
//     once.
//   - A hung, dead or slow minority of nodes delays no call. It costs no lease that has been extended once; until then
//     a lease may stand on a bare majority.
//   - A hold that failed, was canceled or is finished leaves no lock behind, at the latest two node timeouts after the
//     nodes answer again. On a node that does not answer it runs out by its TTL.
//   - Every call ends by its own clock. Every retry is bounded, spaced and jittered. [Locker.Close] leaves nothing
//     running, unless its error says so.
//
// # Assumptions
//
// The clocks of nodes and clients run at rates that differ by less than the drift (1 %). Node clocks must not be
// stepped. With three nodes or more, a step that is visible in a reply is detected, and that node's vote is ignored for
// MaxTTL. A step that is reverted between two replies goes unnoticed, and so does the promotion of a replica whose
// clock is behind, if no reply came in between. A node whose clock stands still does not vote.
//
// All clients of a prefix use the same nodes: a list of another length is refused. Only this library writes under the
// prefix. A node that is a failover group (Sentinel, a cluster) never has two masters at a time, and its replicas are
// read-only. No node is restored from a snapshot of its memory. Scripts may call INFO; nodes that do not permit it are
// refused unless [WithUnseenRestarts] is set.
//
// # What no lock can do
//
// A paused process can still be inside your code when it wakes, after its lease has run out and somebody else has the
// lock. [Lease.Valid] and the context know it at once, but only when they are asked. That is what [Lease.Token] is for:
// the resource remembers the largest token it has seen and refuses a smaller one (SQL: UPDATE ... WHERE fence <=
// $token). A new holder must show the resource its token before it relies on anything.
//
// # The algorithm
//
// It is the one of the Redis page on distributed locks
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/), with what that page asks for and leaves
// open. There is one Lua script for each verb; the header of acquire.lua says what a node keeps.
//
// State. A node has one hash for a prefix, without a TTL: a guard, and a record for each name with the fencing number,
// the deadline and the holder. Whatever loses a record, be it an eviction or an older file, loses the guard with it. An
// eviction thus costs availability, and no lock is granted twice; policies that evict only keys with a TTL never touch
// the hash.
//
// Acquire. All nodes are asked at once. A majority of grants is the lease, unless its validity is over: that counts
// from before the first byte was sent, and is the TTL less the drift less 2 ms. Granting is idempotent: the same value
// is granted again, so a repeated request does not block itself. A value left by an earlier attempt of the same call is
// replaced. Any other value is another owner's. Votes are counted by the identity of the server: two addresses of one
// server have one vote.
//
// Guard. It names the server (by its replication id, which changes with every restart and every promotion) and when it
// was first seen. The script that grants compares it with the server that it runs on. On another server, or without a
// guard, it writes a new one and grants nothing until MaxTTL has passed ([ErrGuarded]); what is held is still extended
// and released. A server also gets a new replication id when its first replica or a backup connects, so that guard is
// for nothing.
//
// Token. Each node counts the grants of a name. The token is the largest number of the deciding majority. If the
// numbers differ, one more round raises them on a majority before anybody sees the token, so that the next majority
// counts on from there. A number that is gone or older than the guard starts from the node's clock in microseconds,
// which is ahead of every number that it has lost. Numbers are kept for a while after the hold ([WithFenceRetention]).
//
// Extend. A majority must say that the lock is still ours. Nodes that have lost it then get it again, with the checks
// of a grant; they have no vote in that round. An extension without a majority is a loss or unknown, and never a new
// acquisition. Leases that are due together travel in one call.
//
// Release. It is sent to a node after that node's grant has been answered, or it could overtake it. What was not
// answered is released again in the background. Its outcome is decided by the holder's clock: a lease that was valid
// until then was the only one, whoever holds the lock when the answers arrive. Every grant carries an instant of the
// node's own clock after which nobody waits for it: found in the socket of a node that hung, it does nothing.
//
// Time. Elapsed time is monotonic time plus time suspended. Every reply brings the node's clock. With three nodes or
// more, votes count only in a majority whose clocks agree ([WithMaxClockSkew]), and not from a node whose clock has
// moved against this process's. If all have moved alike, it was this process that slept, and its leases are shorter by
// that.
//
// Waiting. Two nodes keep a list of the processes that wait for a lock. A release tells the first of them, and the second
// in case that one is gone, so that few ask however many wait, and all have it in turn; but whoever is further than 10 ms
// from the nodes comes late where a nearer process takes the lock again at once. What is not heard is found by a timer.
// The callers of one process queue behind one of them.
//
// The package logs nothing and keeps no global state; [Hooks] say what it sees.
package redlock
