// Package nodeclock watches the clocks of N Redis nodes from one process. It does no I/O, starts
// nothing and reads no clock: every instant is an argument.
//
// # What a reply tells
//
// A node reads its TIME after the request was sent and before the reply is in. So its offset, its
// clock less the process's, lies between TIME − received and TIME − sent. From then on that interval
// widens by the drift, the most by which the rates of two clocks may differ, times the time elapsed.
// The next reply gives another interval. Where the two meet, what they share is what is known: a
// quick reply sharpens it, and a slow one cannot blunt it. Where they miss each other, no rate
// explains it: the clock has jumped, and the new interval alone is what is known.
//
// Each reply's interval is allowed 1 ms on either side, so two miss each other from 2 ms on. What
// is known is what all replies since the last jump share, so the millisecond is given once: a clock
// that creeps a little with every reply is found out too.
//
// A node that has jumped does not vote until MaxTTL has passed: until then it may have forgotten a
// lease too early. After that its offset is as good as any other. A reply that agrees with what was
// known before a jump, and whose request was sent before the jump was found, is a late one: it is
// ignored.
//
// A clock that shows the same instant again, in reply to a request that was sent 1 ms after that
// reply was in, stands still: the node does not vote until its clock goes on, and then as after a jump.
//
// # When the process sleeps
//
// While the process's machine is suspended its clock stands still, and afterwards every node seems
// to have jumped forward. All have moved by the time slept, as each node's own rate counts it, and
// all at one instant of the process's clock. A jump is known as a range of amounts (from the
// intervals before and after, and the drift over that amount), and as a range of instants: from when
// the last request that showed the old offset was sent, until the first reply that showed the new
// one was in. Where the ranges of a quorum of nodes share an amount and an instant, the process has
// slept, and their jumps are taken back. A node seen unmoved after another had moved shares no
// instant with it, so that two jumps of their own do not pass for a sleep.
//
// The amount reported is the largest the quorum allows, so that a lease of the process ends too
// early rather than too late. The caller adds it to its clock. On that new clock:
//
//   - a node of the quorum is back at its old offset: its fresh interval, less the amount;
//   - a node last seen before the sleep never moved, but for the error of the amount: its interval
//     is widened by that, and when it is seen it has not jumped;
//   - of any other node it is open whether its last reply was read before the sleep or after it,
//     unnoticed in a blunt interval: both remain possible until its next reply.
//
// Replies under way at that moment were timed by the old clock, most likely those of all other
// nodes, since a round asks all at once. An instant of the old clock holds on the new one if it lies
// before the sleep, and is short by the amount if it lies after. The new clock starts at the
// discovery plus the amount, so an instant before that is of the old one; so may be one up to 100 ms
// after the discovery, which the caller has to add a short sleep. Both are taken to be as given, or
// later by the amount: such a reply is blunt by that much, but no jump, nor the same sleep again.
//
// # What does not hold
//
//   - A jump, or a sleep, smaller than what the intervals leave open is not seen. A sleep at the
//     edge, that only some nodes' intervals exclude, is a jump of those nodes.
//   - A quorum of nodes whose clocks are stepped forward alike, between two looks, cannot be told
//     from a sleep of the process, and is taken for one. With one or two nodes, all must move.
//   - Nodes that all move backward have jumped: no sleep does that. If it was the process's clock
//     that ran ahead, this costs the quorum until MaxTTL has passed, and no promise.
//   - A node that reads its TIME amid a sleep, because it was slow with a request sent before,
//     shows a part of the move. If the others find the sleep before it is seen again, it is
//     distrusted like one that has jumped.
package nodeclock
