// Package signal wakes a goroutine.
package signal

// Signal wakes the one goroutine that receives from it. Signals that are set before it receives are one.
type Signal chan struct{}

// New returns a Signal that is not set.
func New() Signal { return make(Signal, 1) }

// Set never blocks.
func (s Signal) Set() {
	select {
	case s <- struct{}{}:
	default: // it is set already
	}
}
