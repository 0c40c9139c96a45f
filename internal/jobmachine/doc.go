// Package jobmachine decides what a leader does about one job. [Next] takes the leader's state of the job and an event, and
// returns the new state and the effects to carry out. It is a pure function: it has no clock, no goroutine and no lock, and
// does no I/O. Instants come with the events.
//
// # What it promises
//
//   - A run starts only after a majority of nodes has stored a state in which it is open ([Effects].Start comes with [Stored]).
//   - Every tick up to the high-water mark of the state has one fate: it was opened once, or it is recorded as missed or
//     skipped. The exception is a job that runs at least once: if nodes lost whether a tick ran, it may be opened again.
//   - One write of the job is under way at a time. If a write fails, the next one starts from the state that was stored last,
//     so nothing has to be undone.
//   - If the job does not allow overlaps, no run is opened while another one of this process is under way.
//   - A paused job opens no tick. Triggers run all the same.
//
// # How a write is made
//
// [Due] asks for a write. It applies everything that is due to one state, in this order: settings, runs that have returned, a
// changed timetable, a trigger, runs that an earlier leader left open, ticks. That state is the write.
//
// # Whether a run was under way
//
// Skip leaves a tick out if a run was under way when the tick was due. A run that is under way later, when the machine decides on
// the tick, does not count: a tick that waited for a leader is caught up with. For the ticks that are not decided, the machine
// keeps when runs were under way.
package jobmachine
