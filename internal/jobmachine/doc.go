// Package jobmachine decides what a leader does about one job. It is the pure heart of the scheduler: [Next] takes what the
// leader knows of the job and an event, and returns what it knows then and what has to be done. It has no clock, no goroutine
// and no lock, and does no I/O: instants come with the events.
//
// # What it promises
//
//   - A run starts only after a majority of nodes has stored a state in which it is open ([Effects].Start comes with [Stored]).
//   - Every tick that has come has one fate: it is opened once, or it is counted and recorded as missed or skipped. The
//     high-water mark of the state says up to where.
//   - One write of the job is under way at a time. A write that fails is dropped, and the next one is made from the state that
//     was stored last, so nothing has to be taken back.
//   - Unless the job allows overlaps, no run is opened while another one of this process is under way.
//   - A paused job opens no tick. Triggers run all the same.
//
// # How a write is made
//
// [Due] asks for a write. It is made in this order: what people have set, runs that have returned, a timetable that has changed,
// ticks of which nodes have lost what became of them, a trigger, runs that an earlier leader left open, ticks. Everything that is
// due goes into one state, and that state is the write.
//
// # Whether a run was under way
//
// Skip leaves a tick out if a run was under way at the instant at which the tick was due, and not because one is under way when
// the tick is looked at: a tick that waited for a leader is caught up with. The machine keeps when runs were under way, for the
// ticks on which it has not decided yet.
package jobmachine
