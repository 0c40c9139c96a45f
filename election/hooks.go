package election

import "time"

// Hooks report what an Elector does, for metrics and traces. Any may be nil. They are called in the order in which things happen,
// never under a lock, on the goroutine of Run; Problem has its own goroutine. A hook that blocks holds up the elector, but never the
// end of a term's contexts. Hooks may call any method. A call that waits for the hook itself, such as Shutdown, ends with an
// error after the TTL; with [Term.Context] it does at once.
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
	// Problem is called when a problem is logged, on a goroutine of its own: see [Elector.Problems].
	Problem func(Problem)
}

// hooks are those of every WithHooks, which are called in order, on the same goroutine.
type hooks []Hooks

func (all hooks) elected(t *Term) {
	for _, h := range all {
		if h.Elected != nil {
			h.Elected(t)
		}
	}
}

func (all hooks) ended(t *Term, cause error) {
	for _, h := range all {
		if h.Ended != nil {
			h.Ended(t, cause)
		}
	}
}

func (all hooks) drained(t *Term, took time.Duration, late bool) {
	for _, h := range all {
		if h.Drained != nil {
			h.Drained(t, took, late)
		}
	}
}

func (all hooks) renewed(t *Term, n renewal) {
	for _, h := range all {
		if h.Renewed != nil {
			h.Renewed(t, n.attempts, n.took, n.err)
		}
	}
}

func (all hooks) attempt(took time.Duration, err error) {
	for _, h := range all {
		if h.Attempt != nil {
			h.Attempt(took, err)
		}
	}
}

func (all hooks) problem(p Problem) {
	for _, h := range all {
		if h.Problem != nil {
			h.Problem(p)
		}
	}
}
