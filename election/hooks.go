package election

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/chain"
)

// Hooks report what an Elector does, for metrics and traces. Any may be nil. They are called in the order in which things happen,
// never under a lock, on the goroutine of Run; Observed has its own goroutine. A hook that blocks holds up the elector, but never
// the end of a term's contexts. Hooks may call any method. A hook that calls Shutdown waits for itself, so the context that it
// passes must end.
type Hooks struct {
	// Elected is called when this process has won, before its callbacks start.
	Elected func(t *Term)
	// Ended is called when the callbacks' contexts have ended, with the cause.
	Ended func(t *Term, cause error)
	// Drained is called when the callbacks have returned and the lease is released, or when the lease was abandoned. took is
	// the time since the end. late means that callbacks had not returned when the lease was over or abandoned.
	Drained func(t *Term, took time.Duration, late bool)
	// Renewed is called after each renewal, with its number of attempts and the time since the first one began. err is nil, or
	// why the last attempt failed.
	Renewed func(t *Term, attempts int, took time.Duration, err error)
	// Attempt is called after each attempt to win; err is nil for the one that won.
	Attempt func(took time.Duration, err error)
	// Observed is called at the start and whenever the leader changes, including to this process or to nobody.
	Observed func(Leader)
}

// JoinHooks returns Hooks that call all the given ones in order, on the same goroutine. A hook that none of them has stays nil. If
// one panics, those after it are not called.
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
