package election

// State says what an Elector is doing.
type State string

const (
	// StateStopped means that Run is not running.
	StateStopped State = "stopped"
	// StateFollowing means that it campaigns, or waits until it may.
	StateFollowing State = "following"
	// StateLeading lasts from the win until the term is asked to end, or is lost.
	StateLeading State = "leading"
	// StateDraining lasts from the end of StateLeading until the callbacks have returned.
	StateDraining State = "draining"
)

// State returns what this Elector is doing. It may have changed by the time the caller reads it.
func (e *Elector) State() State {
	e.mu.Lock()
	t, running, working := e.term, e.run != nil, len(e.running) > 0
	e.mu.Unlock()
	switch {
	case t != nil && t.canStart():
		return StateLeading
	case t != nil && (running || working): // after Run, e.term stays set
		return StateDraining
	case running:
		return StateFollowing
	default:
		return StateStopped
	}
}
