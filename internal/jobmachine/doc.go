// Package jobmachine decides what a leader does about one job. It is a pure state machine: [Next] takes a [Machine] and an event, and
// returns the new machine and the effects to carry out. It has no clock, no goroutine and no lock, and does no I/O: instants come
// with the events.
//
// # Guarantees
//
//   - A run starts only after a majority of nodes has stored a state in which it is open ([Effects].Start comes with [Stored]).
//   - Every tick that has come is either opened once, or counted and recorded as missed or skipped. The high-water mark of the state
//     says up to which tick that is done.
//   - Only one write of the job is under way at a time. If a write fails, the machine drops it and makes the next one from the state
//     that was stored last, so nothing has to be undone.
//   - Unless the job allows overlaps, no run is opened while another run of this leader is under way or waits for a retry, or
//     while one of an earlier leader may be under way ([Effects].Ask).
//   - A paused job opens no tick. Triggers run nevertheless.
//
// # How a write is made
//
// [Due] asks for a write. The machine handles, in this order: a pause or its end, runs that have returned, a changed spec or zone,
// ticks whose outcome the nodes have lost, a trigger, open runs that go on or that an earlier leader has left, and ticks. Everything
// that is due goes into one state, which is the write.
//
// # Whether a run was under way
//
// Skip skips a tick if a run was under way when the tick was due. It does not matter whether a run is under way when the machine
// decides on the tick: a tick that waited for a leader is caught up with. So the machine remembers when runs were under way, for the
// ticks that are not decided yet.
package jobmachine
