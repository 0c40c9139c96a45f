// Package register is the memory that N nodes have of the jobs of one election: which ticks are taken, what
// came of them, and what people have asked for. It is what makes a tick start at most once, whatever
// clocks, leaders and networks do. It has no timer and starts nothing.
//
// # Claims
//
// A run may start when its tick is claimed: when a quorum of nodes has voted for it. A node votes yes if
//
//   - it knows the job in its present memory: made under the run id and the guard that it has now;
//   - the token is not below the largest it has been promised;
//   - the tick is above its mark, the largest it has voted for; the vote raises the mark;
//   - the tick is no more than 2 s ahead of the node's own clock;
//   - or if the run asks again that it has voted for. What it was told of, as it was admitted or by another leader,
//     is no vote.
//
// Votes are never withdrawn, and no time to live takes part. Two runs with a quorum of votes for one tick
// would share a node, and there the second was told that the tick is taken.
//
// One node is asked before all others, the same one by everybody: asked all at once, several who ask for
// one tick split the votes, and nobody has it. Where that node is slow the others are asked without it:
// safety does not depend on the order.
//
// # A new leader
//
// It has its token promised by a quorum, for every job. From then on a quorum refuses the leader before it,
// and the answers name everything that one can have started: the mark is the Q-th largest, since a tick at or
// below it can find no quorum any more. Above it nothing is known: asking decides.
//
// # Nodes that forgot
//
// A node that restarted, was flushed or promoted may have forgotten votes. It does not know the jobs any
// more, says so, and neither votes nor counts, until it is admitted: it is given what a quorum of others
// knows, and a mark that is not below its own time + 2 s. As no node votes for a tick more than 2 s ahead, no
// vote that it forgot is above that mark: it does not matter who admits it, how often, or how many forgot.
// An admission acts only under the memory that did not know the job, so that a late one does nothing. It tells
// of runs under way too, for the next leader: they can be ended there, and not taken over.
//
// A job is new only if a quorum of nodes says that it does not know it.
package register
