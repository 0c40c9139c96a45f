// Package jobstore keeps the jobs of one election on N nodes. Each job has one state, which the leader writes as a whole. The
// protocol makes a tick start at most once, whatever clocks, leaders and networks do. The package has no timer and starts
// nothing.
//
// # Ballots
//
// Each change of a job is one accept of classical Paxos. A leader takes a [Ballot] and asks the nodes to promise it
// ([Store.Prepare]). A node that promises serves no smaller ballot any more, and returns its states. The state that was written
// last is chosen ([Store.Decide]). Then the leader writes states under its ballot ([Store.Write]). A state that a majority has
// stored is decided: a run may start once a majority has stored a state in which the run is open.
//
// A node refuses a ballot or a high-water mark that is more than 2 s ahead of its clock ([Ahead]). So everything that it has served
// is below its present clock + 2 s.
//
// # Nodes that lost their state
//
// A node that restarted, was flushed or promoted, or got older data back, may have lost what it stored. The first prepare after
// that starts a new incarnation of the node, at an instant of its clock. In an incarnation, a node serves only ballots that are
// taken more than 2 s after its start, so none that it can have served before. If it still has states, it returns them as states of
// an earlier incarnation. If no majority vouches for a state in its present incarnation, no tick up to 2 s after the start of these
// incarnations may be opened ([Basis.Floor]). If no node has a state, the leader may go on from one that its process has seen, above the
// same floor ([Basis.Recall]).
//
// The scripts recognize an incarnation by three things that must match. The hash of the locks has a marker, the header in the hash
// of the jobs has the same marker, and the guard of the locks names the server. If a node loses one of them, or gets an older one
// back, they do not match.
//
// # Nodes that somebody else writes to
//
// A leader and readers do not use these data of a single node, because this library cannot have written them, or no majority can
// have them:
//
//   - A state or a setting that is ahead of the node's clock, unless a majority has such ones; or a state that differs from a
//     majority's state at the same position in the order of writes.
//   - A state later than a majority's state. Ends of runs are the exception, since no other node may know them.
//   - A pause or a trigger, unless the nodes that have it and those that did not answer may be a majority together. A node that may
//     have lost it counts as one that did not answer, unless a leader has written the job after the setting was made: then the
//     state has the setting. If the nodes that answered first do not agree, all are asked.
//   - A name of a job, and rows of the history, if the other nodes have enough rows to show.
//
// If a node has stored a later number than its leader has used, it gets all jobs again under a later ballot.
//
// While no majority has the same state, as in the middle of a write, such a node may be believed.
//
// # Clocks that are set back
//
// If a majority has a job from the future, it stored that by clocks that have been set back since. The leader goes on from these
// states ([Basis.SetBack]) and writes them again without times of the future. Its ballot is taken by the present clock, so it may be
// smaller than those of these states. Therefore a state counts how often the clocks were set back, and a state with a larger count is
// the later one, whatever its ballot. Ticks keep their names: State.Ran has those that may have been opened and come again.
//
// # Why a tick starts once
//
// Suppose that ballots b < b' have both opened tick T, each on a majority. Then some node is in the majority that stored b's write
// and in the majority that promised b'. There are three cases:
//
//   - It stored the write and then promised, and lost nothing in between. It returned a state whose mark is at least T, or whose Ran
//     has T. By induction, that is so of the state that was written last too.
//   - It promised first. Then it refused the write.
//   - It lost its state in between. Its new incarnation does not serve b, so the write came before. Then T is below the floor.
//
// Only one process writes under a ballot.
//
// # Assumptions
//
// A node that loses its state does not set its clock back at the same time.
package jobstore
