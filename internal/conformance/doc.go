// Package conformance has the requirements for a lock over N independent Redis masters, as cases that run on any nodes:
// in-memory nodes of nodetest in a bubble of virtual time, and redis-server processes. It is for tests only.
//
//	for _, c := range conformance.Cases() { // in a bubble, for each of c.Sizes
//		conformance.Run(t, c, conformance.InMemory(t, size))
//	}
//
// Package redlock runs the cases on in-memory nodes. Module integration runs those on servers of which a server can
// decide something, which [Case.Server] names. What every lock over N masters must do is stated here. The tests of package
// redlock cover the rest: its own options and errors, its internals, times that only a bubble can measure, request
// counts, and mixes of faults that only in-memory nodes can produce.
//
// # A case
//
// A [Case] gets a [World]: nodes, which it can inspect and break, and processes, each with its own links to the nodes,
// which it can also break. It asserts nothing that a busy machine can invalidate: it waits for final states, and
// extends every time limit by [World.Busy]. In a bubble that is zero, so the same case is exact there.
//
// # Sources
//
// C1 to C20 are flaws of existing locks, each found in at least one of them. The other cases are the tests of those
// locks, as far as they apply to this one. The comment on a case names both. C17, a process that is stopped for longer
// than its TTL, needs a process: see the test of a stopped leader in integration, and [suspended] for what a lease
// reports about itself.
package conformance
