package jobstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Basis is what a new leader goes on from. The leader must write it under its own ballot before it acts on it: until then a
// majority may know nothing of it.
type Basis struct {
	Known   bool // some node has a state
	At      At   // of the state that holds
	State   State
	Pause   Setting
	Trigger Setting
	// Floor is zero when a majority vouches for the state. Otherwise no tick up to Floor may be opened: it may have started
	// even if the state does not name it, and the nodes that knew of it have lost that.
	Floor time.Time
	// Complete says that all nodes have answered, so that asking again finds nothing more.
	Complete bool
	// Unsure says that nodes that have not answered may show that an open run of the state has not started.
	Unsure bool
	// Lost says that a majority has lost the job.
	Lost bool
}

// Decide returns what the nodes that have promised know of the i-th job of the prepare. The error says that too few of their
// answers can be used.
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
	var pauses, triggers votes
	var began []time.Time // of nodes that know nothing of the job
	answered := 0
	chosen := majorityOf(promises, i, q.Majority())
	for _, p := range promises {
		err := p.Err
		if err == nil {
			err = first(p.Jobs[i].Err, p.Jobs[i].contradicts(chosen))
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
		pauses.add(found.Pause, p.Began)
		triggers.add(found.Trigger, p.Began)
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
	judged := b.At.Ballot.Time()
	b.Pause = newest(pauses.holds(q, judged, now), b.State.Pause, now)
	b.Trigger = newest(triggers.holds(q, judged, now), b.State.Trigger, now)
	return b, nil
}

// majorityOf returns what a majority of the nodes knows alike of the i-th job, each in its present incarnation; nil: there is no
// such majority.
func majorityOf(promises []Promise, i, majority int) *Found {
	for n := range promises {
		same := 0
		for _, other := range promises[n:] {
			if promises[n].isSame(other, i) {
				same++
			}
		}
		if same >= majority {
			return &promises[n].Jobs[i]
		}
	}
	return nil
}

// isSame reports whether two nodes have the same state of the i-th job, both in their present incarnation.
func (p *Promise) isSame(other Promise, i int) bool {
	if p.Err != nil || other.Err != nil {
		return false
	}
	a, b := &p.Jobs[i], &other.Jobs[i]
	return a.Err == nil && b.Err == nil && a.Kind == Present && b.Kind == Present && a.At == b.At && a.text == b.text
}

// contradicts returns why a node's state is not used: it has been changed by somebody else, as the state that a majority has
// shows. nil: it is used. Only one state is ever written at each place in the order.
func (f *Found) contradicts(chosen *Found) error {
	if chosen != nil && f.Kind != None && f.At == chosen.At && f.text != chosen.text {
		return errors.New("its state is not the one that a majority has under the same ballot and number")
	}
	return nil
}

// take keeps the state that was written last.
func (b *Basis) take(f Found) {
	if f.Kind != None && (!b.Known || f.At.IsAfter(b.At)) {
		b.Known, b.At, b.State = true, f.At, f.State
	}
}

// dropUnchosen goes back to an older state if a majority has it, each node in its present incarnation: it has promised the new
// ballot, so no majority has stored the newer state, and none ever will. A node that says how runs have ended which that majority
// has open is believed, as nobody else may know. All else starts again from the older state.
func (b *Basis) dropUnchosen(present []Found, majority int) {
	for _, f := range present {
		same := 0
		for _, other := range present {
			if other.At == f.At {
				same++
			}
		}
		if same >= majority && b.At.IsAfter(f.At) && !onlyEnds(b.State, f.State) {
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

// onlyEnds reports whether a state is an older one but for runs that have ended.
func onlyEnds(s, older State) bool {
	for _, o := range s.Open {
		if !slices.ContainsFunc(older.Open, func(other Open) bool { return other.ID == o.ID }) {
			return false
		}
	}
	older.Open, older.Last, older.LastOK, older.Failures = s.Open, s.Last, s.LastOK, s.Failures
	return bytes.Equal(s.append(nil), older.append(nil))
}

// Continues reports whether what the leader stored last still holds, because only the leader has written since. That is so if a
// majority of the nodes that promise its new ballot served one of its own just before, and lost nothing since.
//
// own are ballots that a majority is known to have promised. Another ballot of the leader does not belong there: a node may have
// promised it after that of another leader, whose writes nobody has read.
func (s *Store) Continues(promises []Promise, own []Ballot) bool {
	n := 0
	for _, p := range promises {
		if p.Err == nil && p.Previous.Began.Equal(p.Began) && slices.Contains(own, p.Previous.Promised) {
			n++
		}
	}
	return n >= s.config.Quorum.Majority()
}

// newest returns the newer one of two settings, but not one from the future: a single node with a wrong clock must not decide.
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

// absurd returns why a node's state is not used: by its own clock the node cannot have stored it. nil: it is used.
func absurd(at At, s State, now time.Time) error {
	if by := s.Mark.Sub(now); by > Ahead {
		return fmt.Errorf("its mark is %w, by %v", ErrAhead, by)
	}
	if by := s.newest().Sub(now); by > Ahead { // what has happened: the time to come is not for one node to fill
		return fmt.Errorf("its state is of a time that is %w, by %v", ErrAhead, by)
	}
	if string(at.Ballot) > fmt.Sprintf("%016d", now.Add(Ahead).UnixMicro())+"g" { // as texts, also where they are no numbers
		return fmt.Errorf("the ballot of its state, %s, is %w", at.Ballot, ErrAhead)
	}
	return nil
}
