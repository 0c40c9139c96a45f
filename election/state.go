package election

// State is what an Elector does at present.
type State string

const (
	// StateStopped is while Run is not running.
	StateStopped State = "stopped"
	// StateFollowing is while it campaigns, or waits until it may.
	StateFollowing State = "following"
	// StateLeading is from the win until the term is asked to end, or is lost.
	StateLeading State = "leading"
	// StateDraining is from there until its callbacks have returned.
	StateDraining State = "draining"
)

// State tells what this process does. By the time the caller reads it, that may have changed.
func (e *Elector) State() State {
	e.mu.Lock()
	t, running, working := e.term, e.run != nil, len(e.running) > 0
	e.mu.Unlock()
	switch {
	case t != nil && t.work.Err() == nil && t.Valid():
		return StateLeading
	case t != nil && (running || working): // after Run nobody forgets the term
		return StateDraining
	case running:
		return StateFollowing
	default:
		return StateStopped
	}
}
