// Package jobstore is what N nodes know of the jobs of one election: of each job one state, which its leader writes as a
// whole. It is what makes a tick start at most once, whatever clocks, leaders and networks do. It has no timer and starts
// nothing.
//
// # Ballots
//
// Each change of a job is one accept of classical Paxos. A leader takes a [Ballot] and has a majority promise it
// ([Store.Prepare]): they serve no smaller one any more, and name the state that they have. Of these the one that was written
// last holds ([Store.Decide]). Then it writes states under its ballot ([Store.Write]). What a majority has stored is done: a run
// may start when the state that has it open is stored, and not before.
//
// A node refuses a ballot or a mark that is more than 2 s ahead of its clock ([Ahead]). So what it has served up to now is
// below its present clock + 2 s.
//
// # Nodes that lost their state
//
// A node that restarted, was flushed or promoted, or got older data back, may not know what it has stored. The first prepare
// that it hears begins an incarnation of it, at an instant of its clock. In that it serves only ballots that are taken more
// than 2 s later, so none that it can have served before. What it still has is of an earlier incarnation, and it says so. Where no majority
// vouches for a state, no tick up to the beginning of those incarnations + 2 s may be asked for ([Basis.Floor]).
//
// An incarnation is told by two hashes that name each other and by the guard of the locks, which names the server. Whoever
// loses one of them, or gets an older one back, loses the match.
//
// # Why a tick starts once
//
// Let b < b' both have opened tick T, each on a majority. Some node is in both the majority that stored b's write and the one
// that promised b'. If it stored the write and then promised, in one incarnation, it named a state whose mark is T or more, and
// so does the one that was written last. If it promised first, it refused the write. If it lost its state in between, it was
// in an incarnation that serves no b, or b was written before that began: then T is not above its floor.
// Within one ballot there is one process. It is assumed that a node which loses its state does not also set its clock back.
package jobstore
