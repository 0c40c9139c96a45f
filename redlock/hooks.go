package redlock

import "time"

// Hooks tell what a Locker sees, for logs and metrics. Each may be nil. They are called on the
// goroutines that talk to the nodes, several at a time, never under a lock: they should return soon,
// and may call any method of the Locker but Close.
type Hooks struct {
	// Guarded is called when a node is found to grant nothing because it may have forgotten a lease,
	// and for how long; and with zero when it is found to grant again.
	Guarded func(node string, left time.Duration)
	// Repaired is called when a lock was set again on a node that had lost it.
	Repaired func(node, name string)
	// NodeError is called when a node fails at something, and again when it fails in another way or
	// after it had been well: not for each call.
	NodeError func(node, op string, err error)
	// ClockJump is called when the clock of a node was stepped. Its votes do not count for MaxTTL.
	ClockJump func(node string, by time.Duration)
}
