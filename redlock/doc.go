// Package redlock is a lock over N independent Redis masters: 1, 3 or 5 of them, of which a majority
// decides. A lock that was won is a [Lease]: it has a deadline, a context that ends there, and a
// fencing token.
//
//	locker, err := redlock.Open([]string{"r1:6379", "r2:6379", "r3:6379"})
//	...
//	err = locker.Do(ctx, "import", func(ctx context.Context, lease *redlock.Lease) error {
//		return work(ctx, lease.Token()) // ctx ends before anybody else can have the lock
//	})
//
// # What holds
//
//   - At most one lease per name is valid at a time.
//   - Tokens of a name increase from grant to grant, also over nodes that lose their data.
//   - A node that restarted, was flushed, was promoted or came back with an older file grants nothing
//     until MaxTTL has passed: every lease that it may have forgotten has ended by then. A node that
//     was never used before cannot be told from one that forgot: the very first start waits once.
//   - A hung, dead or slow minority of nodes delays no call, and costs no lease that was extended
//     once; until then it may stand on a bare majority.
//   - A failed, cancelled or finished hold leaves no key behind, at the latest two node timeouts after
//     the nodes answer again; where a node does not answer, the key runs out by its TTL.
//   - Every call ends by its own clock. Every retry and every extension is bounded, spaced and
//     jittered. [Locker.Close] leaves nothing running, unless its error says so.
//
// # While what holds
//
// The clocks of nodes and clients run at rates that differ by less than the drift, 1 % unless
// changed. No node's clock is stepped: a step that is still to be seen is seen, and the node does
// not count for MaxTTL; one that was undone before anybody looked is not. All clients of a prefix
// use the same list of nodes: another length of it is refused, unless its new nodes alone are a
// majority; another address is not noticed. A node that is itself a failover group (Sentinel, a
// cluster) does not split its brain. Nodes let the scripts read INFO: where they do not, a restart
// is seen only by the data being gone.
//
// # What does not hold
//
// A paused process can still be inside your code when it wakes, after its lease has run out and
// somebody else has the lock. [Lease.Valid] and the context tell it at once, but only when it looks.
// That is what [Lease.Token] is for: have the resource remember the largest token it has seen and
// refuse a smaller one (SQL: UPDATE ... WHERE fence <= $token), and show it the token before you
// rely on anything.
//
// # The algorithm
//
// It is the one of the Redis page on distributed locks (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/),
// with what that page asks for and leaves open. One Lua script for each verb, each with a header.
//
// Acquire. All nodes are asked at once to set {prefix}:lock:name, if it is absent, to a value of this
// acquisition's own, with the TTL. A majority of grants is the lease, unless validity is over: it
// counts from before the first byte was sent, and is the TTL less drift less 2 ms. The call returns
// when the outcome is decided, and at the latest at the node timeout, by a timer of this package: by
// default go-redis does not honour a context. The same value asking again is told "granted" again, so
// a retry after a lost reply is not held up by itself; what an earlier attempt of the same acquisition
// left is taken over; anything else is somebody else's, down to the last byte.
//
// Token. Each node counts its grants in {prefix}:fence:name. The token is the largest count of the
// deciding majority; if the counts differ, one more round raises them on a majority before anybody sees
// the token, so that whatever majority comes next counts on from there. A counter that is gone, or that
// was written before the node's guard began, starts from the node's clock in microseconds, which is
// ahead of every number that it has forgotten. Counters are dropped 7 days after the last grant.
//
// Guard. {prefix}:guard on each node holds the server's run id and replication id and when they were
// first seen, by that node's clock. The scripts that set keys read both from INFO. Where they are not
// those of the guard, or there is no guard, or it began in the node's future, it begins anew, and for
// MaxTTL the node refuses ([ErrGuarded]); it still extends and releases what it holds. The guard also
// remembers the largest MaxTTL it was told, and how many nodes are in the list.
//
// Extend. A majority must say that the lock is still ours. Nodes where it is gone are then set again,
// with acquire's checks, and have no vote in that round: repair is from strength only. An extension
// without a majority is a loss or unknown, never a new acquisition. Leases that are due together travel
// in one call of up to 100 names.
//
// Release. Only where the whole value is ours, after the node's own grant has been answered, for a
// release that overtakes a grant leaves it behind. What was not answered is released again later, by
// one janitor for each node. A request carries the instant, by the node's own clock, after which nobody
// waits for its answer; found in the socket of a node that hung, it then does nothing.
//
// Time. Elapsed time is monotonic time plus time suspended. Every reply brings the node's clock: with
// three nodes or more, votes count only in a majority whose clocks agree within a second, and not from a
// node whose clock has moved against this process's by more than drift and round trip allow. Where all
// moved alike, it was this process that slept, and its leases are shorter by that.
//
// Waiting. Contenders that ask in parallel split the votes, so after a lost race one node is asked
// before the others, the same by everybody. A release is published by the script that does it; besides,
// a waiter asks again when the holder's TTL is over. Only whom a majority names is the holder.
// Callers of one process queue behind one contender for each name.
//
// The package logs nothing and keeps no global state; [Hooks] tell what it sees.
package redlock
