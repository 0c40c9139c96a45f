// Package clock measures elapsed time including the machine's sleep.
//
// A lease runs out by the clocks of the nodes, which run on while this machine sleeps. The
// monotonic clock, which [time.Time] comparisons and timers use, does not:
//
//	             sent                                    woken
//	this machine  |--- 4 s ---|~~~~~ sleeps for 20 s ~~~~~|--- 1 s ---|
//	monotonic     0           4                           4           5   the lease of 10 s is mine
//	this package  0           4                          24          25   it is not
//	a node        0           4        10                24          25   it is another's
//
// # Guarantees
//
//   - [Clock.Now] is monotonic time plus the time slept since [New]. It never goes back.
//   - On Linux, time slept is the growth of CLOCK_BOOTTIME − CLOCK_MONOTONIC: steps of the wall
//     clock change nothing, but for one that sets it back by the length of the sleep, within 0.1 ms,
//     before anybody has looked: that hides the sleep until the next poll. Without such a pair of clocks, it is what the wall clock gained on the
//     monotonic one. A step forward then looks like sleep. A step back changes nothing, unless
//     there was sleep since the last poll, of which it hides its own length.
//   - It is never more than that growth, and at most 0.2 ms less, unless the process was delayed
//     many times in a row between reading two clocks; the next reading corrects that.
//   - A function of [Clock.AfterFunc] never runs before its instant. Without sleep it is as exact
//     as a [time.Timer]; after sleep it runs within 200 ms of the wake-up. One poll every 200 ms
//     serves all timers of a Clock; without an armed timer there is no polling.
//   - Timers that ran or were stopped leave nothing behind. No goroutine outlives a poll or the
//     function it runs.
//
// # Limits
//
// A virtual machine that its host pauses or restores may have no clock that shows it.
//
// Instants of one Clock mean nothing to another Clock or to [time.Now]; [Clock.Local] translates. In
// a testing/synctest bubble, a Clock made there works in the bubble's time.
package clock
