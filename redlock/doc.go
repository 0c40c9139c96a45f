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
//   - At most one lease per name is valid at a time. Its holder believes in it from the moment before
//     the first request was sent until its TTL less drift has passed; the nodes, for the whole TTL
//     from later on.
//   - Tokens of a name increase from grant to grant.
//   - A hung, dead or slow minority of nodes delays no call, and costs no lease that was extended
//     once; until then it may stand on a bare majority. A call returns when its outcome is decided,
//     and at the latest at the node timeout, by a timer of this package: it does not trust the
//     client to honour a context.
//   - A failed, cancelled or finished hold leaves no key behind: whatever a node granted late is
//     removed when it answers, within two node timeouts; where it does not answer, the key runs out
//     by its TTL.
//   - Only the holder's whole value releases or extends a lock, and an extension never takes a lost
//     lock anew.
//
// # While what holds
//
// The clocks of nodes and clients run at rates that differ by less than the drift, 1 % unless
// changed, and no node's clock is stepped. Nodes keep their data: a node that restarts empty within
// the TTL forgets that it granted, and so may grant again; give it persistence, or let it come back
// only after MaxTTL. All clients of a prefix use the same list of nodes. No node is a replica that
// may fail over without its last writes.
//
// # What does not hold
//
// A paused process can still be inside your code when it wakes, after its lease has run out and
// somebody else has the lock. [Lease.Valid] and the context tell it at once, but only when it looks.
// That is what [Lease.Token] is for: have the resource remember the largest token it has seen and
// refuse a smaller one (SQL: UPDATE ... WHERE fence <= $token), and show it the token before you
// rely on anything.
//
// # How it works
//
// One script asks each node to set the lock's key if it is absent and to count the grant; all nodes
// are asked at once; a majority of grants within the validity is the lease, and the largest count
// its token. If the counts differ, one more round raises them before anybody sees the token. To
// extend and to release are scripts that compare the value first. An extension that a majority
// confirmed sets the lock again on nodes that have lost it, so that a lease won with a bare majority
// does not depend on it for long. Late answers go to one janitor for each node, which releases what
// must not stay. The package logs nothing and keeps no global state.
package redlock
