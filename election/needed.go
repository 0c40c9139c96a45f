package election

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Callbacks returns how many callbacks are registered, or removed and still running. A Scheduler that has ever had a job counts
// as one.
func (e *Elector) Callbacks() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.callbacksLocked()
}

func (e *Elector) callbacksLocked() int {
	n := len(e.callbacks)
	for _, w := range e.running {
		if w.callback != nil && !slices.Contains(e.callbacks, w.callback) {
			n++
		}
	}
	return n
}

// changedLocked wakes those that wait in awaitNeed. Call it after each change of the callbacks, and when work has returned.
func (e *Elector) changedLocked() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// isNeeded reports whether there is something to campaign for. It returns a channel that is closed when that may have changed.
func (e *Elector) isNeeded() (needed bool, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.config.callbackRequired || e.callbacksLocked() > 0, e.changed
}

// awaitNeed waits until isNeeded returns need. It returns false if ctx ends first.
func (e *Elector) awaitNeed(ctx context.Context, need bool) bool {
	for {
		needed, changed := e.isNeeded()
		if needed == need {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

var errUnneeded = fmt.Errorf("%w: there is no callback any more", ErrResigned)

// endUnneeded starts a goroutine that calls end when there is nothing to campaign for any more. stop ends the goroutine and waits
// for it.
func (e *Elector) endUnneeded(ctx context.Context, end context.CancelCauseFunc) (stop func()) {
	if !e.config.callbackRequired {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if e.awaitNeed(ctx, false) {
			end(errUnneeded)
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}
