package jobstore

import (
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Basis is what a new leader goes on from. Nothing may be done on it before it is written under the leader's own ballot: until
// then a majority may know nothing of it.
type Basis struct {
	Known   bool  // some node has a state
	At      At    // of the state that holds
	State   State // the one with the largest At
	Pause   Setting
	Trigger Setting
	// Floor is zero when a majority vouches for the state. Else no tick up to it may be asked for: one that the state does
	// not name can have started all the same, and those who knew of it have lost it.
	Floor time.Time
}

// Decide returns what the nodes that have promised know of the i-th job that they were asked for. The error is that too few
// of them can be relied on.
func (s *Store) Decide(promises []Promise, i int) (Basis, error) {
	q := s.config.Quorum
	var b Basis
	var failed []quorum.NodeError
	answered, present := 0, 0
	var now time.Time
	for _, p := range promises {
		if p.Err == nil {
			now = latest(now, p.Time)
		}
	}
	for _, p := range promises {
		err := p.Err
		if err == nil {
			err = p.Jobs[i].Err
		}
		if err != nil {
			failed = append(failed, quorum.NodeError{Addr: q.Addr(p.Node), Err: err})
			continue
		}
		answered++
		found := p.Jobs[i]
		switch found.Kind {
		case Present:
			present++
		case Left:
			b.Floor = latest(b.Floor, p.Began.Add(Ahead))
		case None:
			b.Floor = latest(b.Floor, latest(p.Began.Add(Ahead), p.Floor))
		}
		if found.Kind != None && (!b.Known || found.At.IsAfter(b.At)) {
			b.Known, b.At, b.State = true, found.At, found.State
		}
		b.Pause, b.Trigger = newest(b.Pause, found.Pause, now), newest(b.Trigger, found.Trigger, now)
	}
	if answered < q.Majority() {
		return Basis{}, s.shortfall("what is known of a job", answered, failed, ErrNoQuorum, nil)
	}
	if present >= q.Majority() {
		b.Floor = time.Time{}
	}
	b.Pause = newest(b.Pause, b.State.Pause, now)
	return b, nil
}

// newest returns b if it is newer than a, and no setting of the future: one node whose clock is wrong must not have it stand.
func newest(a, b Setting, now time.Time) Setting {
	if b.IsNewer(a) && !b.At().After(now.Add(Ahead)) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// absurd is why a state is not believed that a node tells of: by its own clock it can have stored no such state.
func absurd(s State, now time.Time) error {
	if by := s.Mark.Sub(now); by > Ahead {
		return fmt.Errorf("its mark is %w, by %v", ErrAhead, by)
	}
	return nil
}
