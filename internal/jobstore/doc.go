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
// is below its present clock + 2 s, unless its clock was set back.
//
// The first part of a ballot is its epoch. A node whose clock was set back below the ballot that it has promised serves only ballots of
// a later epoch. The leader takes the largest epoch that a majority has promised ([Store.Epoch]). So ballots increase over a set-back.
//
// # Nodes that lost their state
//
// A node that restarted, was flushed or promoted, or got older data back, may have lost what it stored. The first prepare after
// that starts a new incarnation of the node, at an instant of its clock. In an incarnation, a node serves only ballots that are
// taken more than 2 s after its start, so none that it can have served before. If it still has states, it returns them as states of
// an earlier incarnation. If no majority vouches for a state in its present incarnation, no tick up to 2 s after the start of these
// incarnations may be opened ([Basis.Floor]), and a retry that was due by then may have begun. If no node has a state, the leader
// may go on from one that its process has seen, above the same floor ([Basis.Recall]).
//
// The scripts recognize an incarnation by three things that must match. The hash of the locks has a marker, the header in the hash
// of the jobs has the same marker, and the guard of the locks names the server. If a node loses one of them, or gets an older one
// back, they do not match.
//
// # Nodes that somebody else writes to
//
// A leader does not use these data of a single node, because this library cannot have written them, or no majority can
// have them:
//
//   - A state or a mark of deleted jobs that is ahead of the node's clock, unless a majority has such ones; or a state that
//     differs from a majority's state at the same position in the order of writes.
//   - A state later than a majority's state. Ends of runs are the exception, since no other node may know them.
//   - A request, unless the nodes that have it and those that did not answer may be a majority together. A node that may have lost it
//     counts as one that did not answer, unless the job was written under a ballot that was taken after the request was made: then
//     the leader of that ballot has asked a majority for it. A request or a state whose mark is years ahead counts nowhere.
//
// If a node has stored a later number than its leader has used, it gets all jobs again under a later ballot.
//
// While no majority has the same state, as in the middle of a write, such a node may be believed.
//
// People are shown the newest of what the nodes say that answer first, and nothing is decided by that. So one such node can show a
// wrong state, made-up rows and made-up jobs, until the leader writes the job again or longer.
//
// # What people want
//
// A pause, its end, a trigger, a rerun and a cancel are requests. Whoever wants one has a majority of nodes keep it, and publish it. The
// leader reads all requests with a poll: before the first write under a ballot, from time to time, and as soon as one is published. It
// applies a request in the state of the job, which only the leader writes. So the state says what was applied. When a majority has
// stored that state, the leader tells the nodes to forget the request. If nodes have lost a request that waits, it gives it back to them.
//
// Requests have marks, and a larger one comes later. A request that is acknowledged waits on a majority, or a majority has a state in
// which it is applied. So whoever asks a majority learns of it, and takes a mark above it ([Store.Ask]). The clocks only help if all
// nodes lose their data. If they are set back, marks are ahead of them, and a request has its time beside its mark.
//
// # Clocks that are set back
//
// If a majority has a job from the future, it stored that by clocks that have been set back since. The leader goes on from these states
// ([Basis.SetBack]) and writes them again without times of the future. Marks of requests stay. Ticks keep their names: State.Ran has
// those that may have been opened and come again. If a job is deleted, the node keeps up to when its ticks may have been opened, as
// the mark of all deleted jobs. A set-back does not lower it. It becomes the State.Ran of the next job that no node knows.
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
// A node that loses its state does not set its clock back at the same time. Until the clocks have caught up
// after a set-back, no majority loses its state, unless the process that leads next has seen it; and no node loses the mark of deleted
// jobs. If all nodes lose a job that the next leader has not seen, the clock of that leader's process is not behind, and the job is
// added before the clocks are set back.
package jobstore
