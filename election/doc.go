// Package election keeps one of several processes in charge, by a lease over N independent Redis
// masters (package redlock).
//
//	elector, err := election.New(locker, "billing", election.OnLeader(func(ctx context.Context) {
//		... // only in the leader, until ctx is done
//	}))
//	...
//	err = elector.Run(ctx) // campaigns, leads, campaigns again; drains and hands over when ctx ends
//
// # What holds
//
//   - The context of a leader's callbacks is done at least the stop margin before anybody else can
//     lead: by a timer of its own, which asks no node and waits for no renewal.
//   - The lease is released only after all callbacks have returned. Until then it is renewed; if
//     they do not return in time, it is abandoned, and nobody else leads before it has run out.
//   - One registration of a callback runs at most once per term, and never twice at a time in a process.
//   - Nothing starts in a term with less than the stop margin left.
//   - [Elector.IsLeader] and [Term.Valid] look at the clock each time: after a pause that some clock of
//     the machine shows, the first look is right.
//   - The token of a term is larger than that of any term before it.
//   - Run survives nodes that are down at the start, and any outage. When it has returned, nothing is
//     left running, unless its error is [ErrUndrained].
//
// # What it assumes
//
// What package redlock assumes: the clocks of nodes and processes run at the same rate to within the
// drift, 1 %; they need not show the same time. A node that forgets, or is stepped, does not count for the
// longest TTL. Nothing is assumed of the network: it may lose, delay and repeat, and it may lose the answer
// rather than the question. Nothing is assumed of go-redis's timeouts.
//
// # What does not hold
//
//   - A paused process can still be inside your code when it wakes, beside the next leader. Have the
//     resource remember the largest [Term.Token] it has seen, and refuse smaller ones.
//   - A callback that ignores its context for longer than the margin after a loss works beside the next
//     leader. [Elector.Check] fails then.
//   - Work under [Term.Context] outside a callback is not waited for: see [Term.Do].
//   - A virtual machine that its host pauses, or restores, may have no clock that shows it. When it wakes
//     it takes its lease for good, beside the next leader, until the answer to its next renewal.
//   - There may be no leader: for a TTL after a crash, and while no majority of nodes answers.
//
// # States
//
//	           won                  asked, lost, panic
//	follower -------> leader ---------------------------> draining
//	   ^                                                     |
//	   |        callbacks returned: release                  |
//	   +-----------------------------------------------------+
//	   |        time is over: abandon                        |
//	   +------ waiting for callbacks <-----------------------+
//
// A process whose callbacks have not returned does not campaign, and [Elector.Check] fails once
// their lease is over. It also fails while a hook holds Run up.
//
// # A term, when renewals fail
//
//	sent        +TTL/3      +2TTL/3      +0.79·TTL         +0.99·TTL        +TTL
//	   |-- renew ----|-- retry ---|-- retry ---| contexts done | lease over      | keys expire
//	                                            \__ the margin: callbacks stop _/  the next one
//
// All of it counts from the moment the last confirmed request was sent. A confirmed renewal moves
// it; one in flight does not.
//
// # Handover
//
// Callbacks return, the lease is released, the nodes tell those who wait, and one of them leads: within
// milliseconds. After a crash it is the lease's end that they wait for, and up to 20 ms more. A follower
// waits in one Acquire and costs the nodes next to nothing. Whoever only wants to know who leads need not
// campaign: [Elector.Leader], [Elector.Observe]. The nodes also keep who led before, for people: [Elector.Terms].
//
// # Two contexts
//
// A callback's context ends when the term is asked to end ([ErrStopped], [ErrResigned], a
// [PanicError]) or is lost ([ErrLost]). [Term.Context] goes on while callbacks drain, and ends when
// the lease can no longer be trusted: work that should rather be finished than cut off belongs there.
//
// # Giving up
//
// A leader gives up by itself when it resigns ([Term.Resign]), at the end of its tenure ([WithMaxTenure]),
// after so many renewals ([WithMaxExtensions]), or by a panic that a handler takes ([WithPanicHandler]). Then
// it does not campaign for the cooldown, so another candidate is the next one if there is any, and the
// same one if there is none. [WithStandby] is a weak preference for the others.
//
// # Endings
//
//	asked to stop     callbacks' contexts end, the lease is renewed until they return, then released
//	drain timeout     Term.Context ends too; within the margin they may still return, else: abandon
//	lost              both contexts end at once; what returns in time is cleaned up after
//	panic             as asked to stop, and Run panics with it: the lease runs out; or the handler takes it
package election
