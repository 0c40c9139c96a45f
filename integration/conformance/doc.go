// Package conformance is what a lock over N independent Redis masters must do, as cases that run on
// any nodes: those of nodetest in a bubble of virtual time, and redis-server processes. It is for
// tests alone.
//
//	for _, c := range conformance.Cases() { // in a bubble, for each of c.Sizes
//		conformance.Run(t, c, conformance.InMemory(t, size))
//	}
//
// Package redlock runs the cases on in-memory nodes, package integration on servers. What all users of the lock can see
// is stated here and nowhere else; the tests of package redlock are about its inside, about times that only a bubble
// shows, about counted requests, and about mixes of faults that only in-memory nodes can play.
//
// # A case
//
// A [Case] is told of its [World]: nodes, which it can look into and break, and processes, each with
// its own way to the nodes, which it can break too. It asserts nothing that a busy machine can undo:
// what must be so in the end it awaits, and every time that it allows is longer by [World.Busy]. In
// a bubble that is nothing, and so the same case is exact there.
//
// Where a case needs what only one kind of nodes can do, the table says why.
//
// # Where they come from
//
// C1 to C20 are the flaws of the locks that were there before, each of which at least one of them
// shows. The others are those locks' own tests, as far as they make sense for this one. The comment
// on a case names both. C17, a process that is stopped beyond its TTL, needs a process: there is the
// test of a stopped leader in integration, and [suspended] for what a lease says of itself.
package conformance
