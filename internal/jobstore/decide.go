package jobstore

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Basis is what a new leader goes on from. Nothing may be done on it before it is written under the leader's own ballot: until
// then a majority may know nothing of it.
type Basis struct {
	Known   bool // some node has a state
	At      At   // of the state that holds
	State   State
	Pause   Setting
	Trigger Setting
	// Floor is zero when a majority vouches for the state. Else no tick up to it may be asked for: one that the state does
	// not name can have started all the same, and those who knew of it have lost it.
	Floor time.Time
	// Complete says that all nodes have answered, so that asking again finds nothing more.
	Complete bool
	// Unsure says that nodes that have not answered may show that a run which the state has open cannot have started.
	Unsure bool
	// Lost says that a majority has lost all that it knew of the job.
	Lost bool
}

// Decide returns what the nodes that have promised know of the i-th job that they were asked for. The error is that too few
// of them can be relied on.
func (s *Store) Decide(promises []Promise, i int) (Basis, error) {
	q := s.config.Quorum
	var now time.Time
	for _, p := range promises {
		if p.Err == nil {
			now = latest(now, p.Time)
		}
	}
	var b Basis
	var failed []quorum.NodeError
	var present []Found
	var began []time.Time // of nodes that know nothing of the job
	answered := 0
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
			present = append(present, found)
		case Left:
			b.Floor = latest(b.Floor, p.Began.Add(Ahead))
		case None:
			b.Floor = latest(b.Floor, latest(p.Began.Add(Ahead), p.Floor))
			began = append(began, p.Began)
		}
		b.take(found)
		b.Pause, b.Trigger = newest(b.Pause, found.Pause, now), newest(b.Trigger, found.Trigger, now)
	}
	if answered < q.Majority() {
		return Basis{}, s.shortfall("what is known of a job", answered, failed, ErrNoQuorum, nil)
	}
	if len(present) >= q.Majority() {
		b.Floor = time.Time{}
		b.dropUnchosen(present, q.Majority())
	}
	b.Complete = answered == q.Size()
	b.Unsure = !b.Complete && len(b.State.Open) > 0 && b.named(present) < q.Majority()
	lost := 0
	for _, at := range began {
		if b.Known && at.After(b.State.Since) {
			lost++
		}
	}
	b.Lost = lost >= q.Majority()
	b.Pause = newest(b.Pause, b.State.Pause, now)
	return b, nil
}

// take has the state hold that was written last.
func (b *Basis) take(f Found) {
	if f.Kind != None && (!b.Known || f.At.IsAfter(b.At)) {
		b.Known, b.At, b.State = true, f.At, f.State
	}
}

// dropUnchosen goes back to an older state if the newest one opens runs that cannot have started: a majority has one and the
// same older state, each in its present incarnation, and has promised the new ballot. So no majority has stored the newer
// one, and none ever will.
func (b *Basis) dropUnchosen(present []Found, majority int) {
	for _, f := range present {
		same := 0
		for _, other := range present {
			if other.At == f.At {
				same++
			}
		}
		if same >= majority && b.At.IsAfter(f.At) && opensMore(b.State, f.State) {
			b.At, b.State = f.At, f.State
			return
		}
	}
}

// named returns how many nodes name the state that holds.
func (b *Basis) named(present []Found) (n int) {
	for _, f := range present {
		if f.At == b.At {
			n++
		}
	}
	return n
}

// opensMore reports that a has runs open that b has not.
func opensMore(a, b State) bool {
	for _, o := range a.Open {
		if !slices.ContainsFunc(b.Open, func(other Open) bool { return other.ID == o.ID }) {
			return true
		}
	}
	return false
}

// Continues reports that nobody has written under another ballot than the leader's own ones since it wrote last, so that what
// it has stored last still holds: a majority of those that have promised its new ballot served an earlier one of its own just
// before, and have lost nothing since.
func (s *Store) Continues(promises []Promise, own []Ballot) bool {
	n := 0
	for _, p := range promises {
		if p.Err == nil && p.Previous.Began.Equal(p.Began) && slices.Contains(own, p.Previous.Promised) {
			n++
		}
	}
	return n >= s.config.Quorum.Majority()
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
