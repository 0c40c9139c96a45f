package election

import "time"

// Hooks report what an Elector does, for metrics and traces. Any may be nil. They are called in the order in which things happen,
// never under a lock, on the goroutine of Run. A hook that blocks holds up the elector, but never the end of a term's contexts. Hooks
// may call any method. A call that waits for the hook itself, such as Shutdown, ends with an error after the TTL; with
// [Term.Context] it does at once.
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
}

// complete returns the hooks with a function that does nothing for each that is nil.
func (h Hooks) complete() Hooks {
	if h.Elected == nil {
		h.Elected = func(*Term) {}
	}
	if h.Ended == nil {
		h.Ended = func(*Term, error) {}
	}
	if h.Drained == nil {
		h.Drained = func(*Term, time.Duration, bool) {}
	}
	if h.Renewed == nil {
		h.Renewed = func(*Term, int, time.Duration, error) {}
	}
	if h.Attempt == nil {
		h.Attempt = func(time.Duration, error) {}
	}
	return h
}
