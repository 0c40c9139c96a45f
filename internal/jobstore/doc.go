// Package jobstore keeps the jobs of one election on N nodes. Each job has one state, which the leader writes as a whole. The
// protocol makes a tick start at most once, whatever clocks, leaders and networks do. The package has no timer and starts
// nothing.
//
// # Ballots
//
// Each change of a job is one accept of classical Paxos. A leader takes a [Ballot] and asks the nodes to promise it
// ([Store.Prepare]). A node that promises serves no smaller ballot any more, and returns its state. The state that was written
// last holds ([Store.Decide]). Then the leader writes states under its ballot ([Store.Write]). What a majority has stored is
// decided: a run may start once a majority has stored a state in which the run is open.
//
// A node refuses a ballot or a high-water mark that is more than 2 s ahead of its clock ([Ahead]). So everything it has served is
// below its present clock + 2 s.
//
// # Nodes that lost their state
//
// A node that restarted, was flushed or promoted, or got older data back, may have lost what it stored. The first prepare after
// that starts a new incarnation of the node, at an instant of its clock. In an incarnation, a node serves only ballots that are
// taken more than 2 s after its start, and so none that it can have served before. If it still has states, it marks them as left
// by an earlier incarnation. If no majority vouches for a state in its present incarnation, no tick up to 2 s after the start of
// those incarnations may be opened ([Basis.Floor]).
//
// The scripts recognize an incarnation by three things that must match: the hash of the locks, which has a marker, the hash of the
// jobs, whose header has the same marker, and the guard of the locks, which names the server. If a node loses one of them, or
// gets an older one back, they do not match.
//
// # Nodes that somebody else writes to
//
// What one node has is not used if the library cannot have written it, or if no majority can have it:
//
//   - A state that is ahead of the node's clock, or another one of the same place in the order of writes than a majority has.
//   - A later state than one that a majority has, but for the ends of runs, of which nobody else may know.
//   - A pause or a trigger, unless so many nodes have it that, with those that did not answer, they may be a majority. A node that
//     may have lost it counts as one that did not answer, unless a leader has written the job since the instant when it was set:
//     then the state names it. Where the nodes that answered first do not agree, all are asked.
//   - A name of a job, and rows of the history, as far as those of the others are as many as are shown.
//
// A node that answers that it has stored a later number than its leader has used gets all jobs again under a later ballot.
//
// If no majority has one state, as in the middle of a write, such a node may be believed.
//
// # Why a tick starts once
//
// Let ballots b < b' both have opened tick T, each on a majority. Some node is in the majority that stored b's write and in the
// one that promised b'. There are three cases:
//
//   - It stored the write and then promised, in one incarnation. It returned a state whose mark is at least T, and so, by
//     induction, has the state that was written last.
//   - It promised first. Then it refused the write.
//   - It lost its state in between. Its new incarnation does not serve b, so the write came before. Then T is below the floor.
//
// Within one ballot only one process writes.
//
// # Assumptions
//
// A node that loses its state does not also set its clock back.
package jobstore
