// Package integration holds the tests on real input: redis-server processes on loopback ports, and
// replicas that are processes of their own, killed, stopped, hung, slowed and cut off.
//
// A replica is the test binary started again. It campaigns, has a job that ticks every second, and
// writes what it does and believes as a line of JSON for each event, with times of a clock that all
// processes share. The test collects the lines, waits for events instead of durations, and in the
// end judges the whole history by [Check], which knows nothing of the code that made it.
//
// # What the history must show
//
//   - No replica leads, or says that it leads, while another one does. A leader that is stopped or
//     killed leads until its stop deadline at most.
//   - Nobody leads before the work of the leader before has returned, or its lease has run out.
//   - A run begins in a term of its own replica, with that term's token.
//   - No tick of a job runs twice, but as a later attempt where the job is AtLeastOnce.
//   - Each leader's token is larger than those of all leaders before.
//
// Only processes that a test started are ever signalled. On Linux they die with it, however it
// ends. It needs redis-server on PATH and a Unix system.
package integration
