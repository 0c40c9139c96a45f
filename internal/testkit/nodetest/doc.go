// Package nodetest runs Redis nodes inside the process, with no socket, and breaks the links to them
// on demand: for tests of code that must survive dead, hung, slow, forgetful and lying nodes.
//
//	cluster := nodetest.Start(3)
//	defer cluster.Close()
//	replica := cluster.Links()
//	locker, err := redlock.New(replica.Clients())
//	replica.Hang(0) // node 0 goes silent for this replica; cluster.Hang(0) for all of them
//
// A [Cluster] owns the nodes; each is a miniredis server, whose data [Cluster.Node] shows directly.
// One [Links] stands for one process that uses the nodes. A fault set on the Cluster holds for every
// process, one set on a Links for that process alone, and both at once, from the moment it is set,
// on open connections as on new ones.
//
// The address of a node leads to that node, unless [Links.Lead] makes it lead to another one.
//
// What a node is and knows is the Cluster's: its life (Kill, Restart, Promote), its data (Wipe,
// Snapshot, RestartFrom, FlushScripts), its clock (Offset, Jump, StandStill), what it says of itself (SetInfo) and
// what it permits (Deny). These are no faults: Heal does not end them.
//
// Everything works inside a testing/synctest bubble, where TTLs, delays and timeouts follow the
// bubble's clock, and in a normal program in real time. In a bubble, call Start and Links inside it.
//
// Five habits of go-redis show up in such tests. It makes four tries of five seconds each unless told
// otherwise. Pipelines have connections of their own. Once as many dials failed as the pool has
// places, calls fail at once until a background dial, one a second, gets through. Calls that wait
// for a place in the pool leave timers in a package variable, which is fatal in the next bubble: keep
// the calls at a time on a node below PoolSize (ten per CPU), or raise it. And a subscription that a
// node refuses with an error is not asked for again until its connection breaks.
//
// What the nodes lack is what miniredis lacks: replication, keyspace notifications, eviction, most of
// INFO and CONFIG, and errors of scripts in Redis's words. In a transaction (MULTI), INFO, ROLE,
// CONFIG GET and TIME answer at once instead of in their turn.
package nodetest
