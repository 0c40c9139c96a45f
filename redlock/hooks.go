package redlock

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/chain"
)

// Hooks tell what a Locker sees, for logs and metrics. Each may be nil. They are called on the
// goroutines that talk to the nodes, several at a time, never under a lock: they should return soon,
// and may call any method of the Locker but Close. Of one node they tell twenty things at once, and then one a second at most: a
// node may change its errors, its clock and its guard without end.
type Hooks struct {
	// Guarded is called when a node is found to grant nothing because it may have forgotten a lease,
	// and for how long; and with zero when it is found to grant again.
	Guarded func(node string, left time.Duration)
	// Repaired is called when a lock was set again on a node that had lost it.
	Repaired func(node, name string)
	// NodeError is called when a node fails at something, and again when it fails in another way or
	// after it had been well: not for each call. Of numbers of locks that are not believed
	// it tells once a minute at most, and not of what is no record: the caller has that in its error.
	NodeError func(node, op string, err error)
	// ClockJump is called when the clock of a node was stepped. Its votes do not count for MaxTTL.
	ClockJump func(node string, by time.Duration)
}

// JoinHooks returns Hooks that call all of those given, in that order, on the same goroutine. What none of them has stays
// nil. If one panics, those after it are not called.
func JoinHooks(all ...Hooks) Hooks {
	var joined Hooks
	for _, h := range all {
		joined = Hooks{
			Guarded:   chain.Of2(joined.Guarded, h.Guarded),
			Repaired:  chain.Of2(joined.Repaired, h.Repaired),
			NodeError: chain.Of3(joined.NodeError, h.NodeError),
			ClockJump: chain.Of2(joined.ClockJump, h.ClockJump),
		}
	}
	return joined
}
