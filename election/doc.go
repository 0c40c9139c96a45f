// Package election keeps one of several processes in charge, with a lease over N independent Redis masters (package
// redlock).
//
//	elector, err := election.New(locker, "billing", election.OnLeader(func(ctx context.Context) {
//		... // only in the leader, until ctx is done
//	}))
//	...
//	err = elector.Run(ctx) // campaigns, leads, campaigns again; drains and hands over when ctx ends
//
// # Guarantees
//
//   - The context of a leader's callbacks ends at least the stop margin before anybody else can lead. A local timer ends
//     it, without waiting for any node or renewal.
//   - The lease is released only after all callbacks have returned, and renewed until then. If they do not return in time,
//     it is abandoned, and nobody else leads before it has run out.
//   - One registration of a callback runs at most once per term, and never twice at a time in a process.
//   - Nothing starts in a term with less than the stop margin left.
//   - [Elector.IsLeader] and [Term.Valid] read the clock in each call. So the first call after a pause is right, if some
//     clock of the machine shows the pause.
//   - The token of a term is larger than the token of any earlier term.
//   - Run survives nodes that are down at the start, and any outage. When it has returned, nothing is left running, unless
//     its error is [ErrUndrained].
//
// # Assumptions
//
// Those of package redlock. The clocks of nodes and processes run at the same rate to within 1 %; they need not show the same
// time.
//
// # Limits
//
//   - A paused process can still be inside your code when it wakes, although the next leader is at work. Let the
//     resource remember the largest [Term.Token] it has seen, and refuse smaller ones.
//   - A callback that ignores its context for longer than the margin after a loss works alongside the next leader.
//     [Elector.Check] fails then.
//   - Nobody waits for work that uses [Term.Context] outside a callback: see [Term.Do].
//   - A virtual machine that its host pauses, or restores, may have no clock that shows it. When it wakes, it trusts
//     its old lease until the reply to its next renewal, although another process may lead.
//   - There may be no leader: for a TTL after a crash, and while no majority of nodes answers.
//
// # Two contexts
//
// A callback's context ends when the term is asked to end ([ErrStopped], [ErrResigned], a [PanicError]) or is lost
// ([ErrLost]). [Term.Context] goes on while callbacks drain, and ends when the lease can no longer be trusted. Use it for
// work that should be finished rather than cut off.
//
// # Giving up
//
// A leader gives up by itself when it resigns ([Term.Resign]), at the end of its tenure ([WithMaxTenure]), or after a panic
// that a handler takes ([WithPanicHandler]). Then it does not campaign for the cooldown, so that another candidate wins if
// there is one. If there is none, the same process wins again. [WithStandby] is a weak preference for the others.
package election

// For maintainers: the states of an Elector.
//
//	           won                  stop, lost, panic
//	follower -------> leader ---------------------------> draining
//	   ^                                                     |
//	   |        callbacks returned: release                  |
//	   +-----------------------------------------------------+
//	   |        time is over: abandon                        |
//	   +------ waiting for callbacks <-----------------------+
//
// A process whose callbacks have not returned does not campaign. Elector.Check fails once their lease is over, and while a hook
// holds up Run.
//
// # A term, when renewals fail
//
//	sent        +TTL/3      +2TTL/3      +0.79·TTL         +0.99·TTL        +TTL
//	   |-- renew ----|-- retry ---|-- retry ---| contexts done | lease over      | keys expire
//	                                            \__ the margin: callbacks stop _/  the next one
//
// All times count from the moment the last confirmed request was sent. A confirmed renewal moves them; a renewal in flight
// does not.
//
// # Endings
//
//	asked to stop     callbacks' contexts end; the lease is renewed until they return, then released
//	drain timeout     Term.Context ends too; callbacks have the margin to return, then the lease is abandoned
//	lost              both contexts end at once; callbacks have the margin to return
//	panic             as asked to stop; then Run panics too and the lease runs out, or the handler takes it
