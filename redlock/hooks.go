package redlock

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/chain"
)

// Hooks report what a Locker observes, for logs and metrics. Each may be nil. They are called on the goroutines that
// talk to the nodes, several at a time, and never under a lock. They should return soon, and may call any method of the
// Locker except Close. For each node, there are at most twenty calls at once and then one per second, because a node
// may change its errors, its clock and its guard endlessly.
type Hooks struct {
	// Guarded is called with the remaining time when a node is found to grant nothing because it may have lost a lease,
	// and with zero when it is found to grant again.
	Guarded func(node string, left time.Duration)
	// Repaired is called when a lock was restored on a node that had lost it.
	Repaired func(node, name string)
	// NodeError is called when a node fails, and again only if it fails in another way, or fails after it has
	// recovered. It is not called for every failed call. Implausible fencing numbers are reported at most once a
	// minute. Values that are not records are not reported, since the caller gets them in its error.
	NodeError func(node, op string, err error)
	// ClockJump is called when the clock of a node was stepped. Its votes do not count for MaxTTL.
	ClockJump func(node string, by time.Duration)
}

// JoinHooks returns Hooks that call all the given ones in order, on the same goroutine. A hook that none of them sets
// stays nil. If one panics, those after it are not called.
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
