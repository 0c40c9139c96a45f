package election

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/chain"
)

// Hooks tell what an Elector does, for metrics and traces. Any may be nil. They are called in the order
// in which things happen, never under a lock, on the goroutine of Run, except Observed, which has one of
// its own: one that blocks holds the elector up, though never the end of a term's contexts. They may call
// any method; Shutdown, which waits for Run and so for them, only with a context that ends.
type Hooks struct {
	// Elected is called when this process has won, before its callbacks start.
	Elected func(t *Term)
	// Ended is called when the callbacks' contexts have ended, with the cause.
	Ended func(t *Term, cause error)
	// Drained is called when the callbacks have returned and the lease is released; or it was abandoned.
	// took is the time since the end. late: they had not returned when the lease was over, or given up.
	Drained func(t *Term, took time.Duration, late bool)
	// Renewed is called after each renewal, with its number of attempts and the time from the first one's
	// begin. err is nil, or why the last attempt failed.
	Renewed func(t *Term, attempts int, took time.Duration, err error)
	// Attempt is called after each attempt to win; err is nil for the one that won.
	Attempt func(took time.Duration, err error)
	// Observed is called when another process, or this one, or nobody leads from now on.
	Observed func(Leader)
}

// JoinHooks returns Hooks that call all of those given, in that order, on the same goroutine. What none of them has stays
// nil. If one panics, those after it are not called.
func JoinHooks(all ...Hooks) Hooks {
	var joined Hooks
	for _, h := range all {
		joined = Hooks{
			Elected:  chain.Of1(joined.Elected, h.Elected),
			Ended:    chain.Of2(joined.Ended, h.Ended),
			Drained:  chain.Of3(joined.Drained, h.Drained),
			Renewed:  chain.Of4(joined.Renewed, h.Renewed),
			Attempt:  chain.Of2(joined.Attempt, h.Attempt),
			Observed: chain.Of1(joined.Observed, h.Observed),
		}
	}
	return joined
}

func (h Hooks) elected(t *Term) {
	if h.Elected != nil {
		h.Elected(t)
	}
}

func (h Hooks) ended(t *Term, cause error) {
	if h.Ended != nil {
		h.Ended(t, cause)
	}
}

func (h Hooks) drained(t *Term, took time.Duration, late bool) {
	if h.Drained != nil {
		h.Drained(t, took, late)
	}
}

func (h Hooks) renewed(t *Term, n renewal) {
	if h.Renewed != nil {
		h.Renewed(t, n.attempts, n.took, n.err)
	}
}

func (h Hooks) attempt(took time.Duration, err error) {
	if h.Attempt != nil {
		h.Attempt(took, err)
	}
}
