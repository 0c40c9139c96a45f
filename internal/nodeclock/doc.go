// Package nodeclock watches the clocks of N Redis nodes from one process. It does no I/O, starts nothing and reads no
// clock: every instant is an argument.
//
// # What a reply shows
//
// A node reads its TIME after the request was sent and before the reply is received. So the offset of its clock from
// the process's lies between TIME − received and TIME − sent. From then on, that interval widens by the drift, the
// largest difference between the rates of two clocks, times the elapsed time. The next reply gives another interval. If
// the two intersect, the intersection is the new knowledge: a quick reply sharpens it, and a slow one cannot blur it.
// If they do not intersect, no rate explains that: the clock has jumped, and only the new interval is known.
//
// Each reply's interval is widened by 1 ms on either side. Since the knowledge is the intersection of all replies since
// the last jump, the millisecond is granted only once: a clock that creeps a little with every reply is detected, too. A
// reply that agrees with the knowledge before a jump, and whose request was sent before the jump was found, is late and
// ignored.
//
// # What a jump costs
//
// A jump forward ends the leases of that node early, and somebody else may get its vote too soon. A lease of duration T
// ends early by itself, by a share of T: a part of it is for rates, and half of the rest, Config.Spare x T, for jumps
// that are seen. The other half is for what the intervals hide. So a jump by d harms only leases that are shorter than
// d / Spare, and the node does not vote for as long. d is the most that the intervals allow. Jumps add up: each one
// prolongs the time that is left of the last one. Nothing is harmed for longer than the longest lease lasts.
//
// A jump back makes leases last longer. It harms nothing on one server: a record never comes back where another one was
// granted. But another server, such as a promoted replica or one that was started with an older file, may have older
// data. If its clock is behind, now or after a jump back at any later time, a lease that had run out lasts again there,
// while somebody has the vote of the old server. Two things must have happened for that: a change of the server and a
// jump back, in either order. Votes given before the first of the two are over when MaxTTL has passed since then.
//
// # When the process sleeps
//
// While the process's machine is suspended, the process's clock stands still, and afterwards every node seems to have
// jumped forward, by the time slept and at one instant of the process's clock. A jump is known as a range of amounts
// (from the intervals before and after, and the drift over that amount) and a range of instants: from when the last
// request that showed the old offset was sent, until the first reply that showed the new one was received. If the ranges
// of a quorum of nodes have an amount and an instant in common, the process has slept, and the jumps of these nodes are
// taken back. A node seen unmoved after another had moved has no instant in common with it, so two independent jumps are
// not mistaken for a sleep.
//
// The reported amount is the largest that the quorum allows, so that a lease of the process ends too early rather than
// too late. The caller adds it to its clock. On that new clock a node of the quorum is back at its old offset. A node
// last seen before the sleep has not moved, except for the error of the amount. For any other node, its last reply may
// have been read before the sleep, or after it without showing it; both remain possible until its next reply.
//
// Replies under way at that moment were timed by the old clock. The new clock starts at the discovery plus the amount, so
// any earlier instant is of the old clock, and so may be any instant up to 100 ms after the discovery: the caller needs
// time to add a short sleep. All these instants are taken to be as given or later by the amount. Such a reply has an
// interval wider by that amount, but shows neither a jump nor the same sleep again.
//
// # Limits
//
//   - A jump or a sleep that is smaller than the width of the intervals is not detected. A borderline sleep that only
//     some nodes' intervals exclude counts as a jump of those nodes.
//   - If a quorum of nodes is stepped forward by the same amount between two replies, that looks like a sleep of the
//     process and is treated as one. With one or two nodes, all must move.
//   - Nodes that all move backward have jumped: no sleep does that.
//   - A node that reads its TIME during a sleep, because it was slow to handle an earlier request, shows a part of the
//     move. If the other nodes reveal the sleep before this node is seen again, it is distrusted as after a jump.
package nodeclock
