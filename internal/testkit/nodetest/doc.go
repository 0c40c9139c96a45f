// Package nodetest runs Redis nodes inside the process, without sockets, and breaks the links to them
// on demand. It is for tests of code that must survive dead, hung, slow, forgetful and lying nodes.
//
//	cluster := nodetest.Start(3)
//	defer cluster.Close()
//	replica := cluster.Links()
//	locker, err := redlock.New(replica.Clients())
//	replica.Hang(0) // node 0 goes silent for this replica; cluster.Hang(0) for all of them
//
// A [Cluster] owns the nodes. Each is a miniredis server, and [Cluster.Node] shows its data directly.
// One [Links] stands for one process that uses the nodes. A fault set on the Cluster affects every
// process; a fault set on a Links affects that process alone. Both take effect as soon as they are
// set, on open and on new connections.
//
// The address of a node leads to that node, unless [Links.Lead] or [Links.LeadInTurn] makes it lead to others.
//
// The Cluster controls the state of the nodes: the process (Kill, Restart), the data (Wipe,
// Snapshot, RestartFrom, FlushScripts), the clock (Offset, Jump), what the node reports about
// itself (SetInfo) and what it permits (Deny). These are not faults, so Heal does not end them.
//
// Everything works inside a testing/synctest bubble, where TTLs, delays and timeouts follow the
// bubble's clock, and in a normal program in real time. In a bubble, call Start and Links inside it.
//
// Five habits of go-redis show up in such tests:
//
//   - By default it makes four attempts of five seconds each.
//   - Pipelines have their own connections.
//   - After as many failed dials as the pool has places, calls fail at once until a background dial,
//     one a second, succeeds.
//   - Calls that wait for a place in the pool leave timers in a package variable, which is fatal in the
//     next bubble. So keep the number of concurrent calls to a node below PoolSize (ten per CPU), or
//     raise PoolSize.
//   - If a node refuses a subscription with an error, go-redis does not repeat the subscription until
//     its connection breaks.
//
// The nodes lack what miniredis lacks: replication, keyspace notifications, eviction, most of INFO and
// CONFIG, and script errors in Redis's words. In a transaction (MULTI), INFO and TIME answer at once
// instead of in their turn. Scripts run on kept Lua states, as in Redis, and not on a new one each.
package nodetest
