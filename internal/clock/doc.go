// Package clock measures elapsed time that counts the machine's sleep.
//
// A lease runs out by the clocks of the nodes, and they go on while this machine sleeps. The
// monotonic clock, by which [time.Time] values are compared and timers run, does not:
//
//	             sent                                    woken
//	this machine  |--- 4 s ---|~~~~~ sleeps for 20 s ~~~~~|--- 1 s ---|
//	monotonic     0           4                           4           5   the lease of 10 s is mine
//	this package  0           4                          24          25   it is not
//	a node        0           4        10                24          25   it is another's
//
// # What holds
//
//   - [Clock.Now] is monotonic time plus the time slept since [New]. It never goes back.
//   - Time slept is the growth of CLOCK_BOOTTIME − CLOCK_MONOTONIC on Linux: steps of the wall
//     clock change nothing. Where there is no such pair, it is what the wall clock gained on the
//     monotonic one: a step forward looks like sleep; a step back changes nothing, unless it comes
//     with sleep before anybody looked, of which it hides its own length.
//   - It is never more than that growth, and at most 0.2 ms less, unless the process was held up
//     between reading two clocks many times in a row; the next reading makes up for that.
//   - A function of [Clock.AfterFunc] never runs before its instant. Without sleep it is as exact
//     as a [time.Timer]; after sleep it runs within 200 ms of the wake-up. One look at the clocks
//     every 200 ms serves all timers of a Clock; without an armed timer there is none.
//   - Timers that ran or were stopped leave nothing behind. No goroutine outlives a look or the
//     function it runs.
//
// # What does not hold
//
// A virtual machine that its host pauses or restores may have no clock that shows it. Who learns of
// it otherwise says so by [Clock.Advance].
//
// Instants of one Clock mean nothing to another, or to [time.Now]; [Clock.Local] translates. In a
// testing/synctest bubble all of this works in the bubble's time, for a Clock that was made there.
package clock
