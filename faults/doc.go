// Faults runs this library and others under the same faults, and prints what each of them does. Every replica is a process of its
// own, on real servers, behind a link of its own that can be cut.
//
//	go run .                      # all, in about six minutes
//	go run . -only killed,cut     # some of the scenarios
//	go run . -write README.md     # puts the tables into the file
//
// # What is counted
//
// There are two kinds of peers. A holder gives a lock or leadership to one process at a time. That process writes to a resource every
// 10 ms for as long as the library lets it; what it has begun takes another 300 ms to end. Two processes that write at the same time
// overlap. A write is stale if another process began to write after the writer did. A resource that checks fencing tokens refuses stale
// writes, if the library has such tokens.
//
// A scheduler runs a job at each tick, every two seconds, for 300 ms. A tick runs twice if two runs of it begin, and is lost if none does.
//
// # Fairness
//
// Each peer has its documented defaults. Where a library leaves something to its user, such as renewing a lock, the user is a careful
// one: it renews after a third of the time, and stops its work when the lock may have expired by its own clock.
package main
