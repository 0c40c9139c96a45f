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
// the last jump, the millisecond is granted only once: a clock that creeps a little with every reply is detected, too.
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
// # Limits
//
//   - A jump that is smaller than the width of the intervals is not detected.
//   - If the process's machine stands still and none of its own clocks shows that, as after a pause by the hypervisor, every
//     node seems to have jumped forward. Nothing tells this from nodes that were stepped alike, so it costs this process
//     the votes of the nodes for as long as such a jump does.
package nodeclock
