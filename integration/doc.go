// Package integration has the tests on real servers: redis-server processes on loopback ports, and replicas in
// separate processes that are killed, stopped, hung, slowed and cut off.
//
// A replica is the test binary started again. It campaigns, and has a job that ticks every second. For each event it
// writes a line of JSON with what it does and believes, and with times of a clock that all processes share. The test
// collects the lines, and waits for events instead of durations. At the end it checks the whole history with [Check],
// which does not depend on the code that made it.
//
// # What the history must show
//
//   - No replica leads, or says that it leads, while another one does. A leader that is stopped or
//     killed leads until its stop deadline at most.
//   - Nobody leads before the work of the previous leader has returned, or its lease has expired.
//   - A run starts in a term of its own replica, with that term's token.
//   - No tick of a job runs twice.
//   - Each leader's token is larger than those of all earlier leaders.
//
// The tests run without the race detector: the goroutines of the library run under it in the tests of their packages,
// in bubbles and in parallel, and here it would only make healthy leaders too slow to renew. make soak turns it on.
//
// The tests signal only processes that they have started. On Linux these die with the test, however it ends. The
// tests need redis-server on PATH and a Unix system.
package integration
