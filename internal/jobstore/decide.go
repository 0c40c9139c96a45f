package jobstore

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Basis is the state of a job from which a new leader goes on. The leader must write it under its own ballot before it acts on it,
// because a majority may not have it before that.
type Basis struct {
	Known   bool // some node has a state
	Written      // the chosen state
	// Floor is zero if a majority vouches for the state. Otherwise no tick up to Floor may be opened: it may have started even if
	// the state does not have it, because the nodes that knew it have lost their state.
	Floor time.Time
	// Deleted is the largest mark of jobs that were deleted from nodes without the job: it may be among them.
	Deleted time.Time
	// Complete says that all nodes have answered, so that asking again finds nothing more.
	Complete bool
	// Unsure says that missing answers may show that an open run of the state has not started.
	Unsure bool
	// Restarted says that all nodes with the job that have answered have restarted: their files may be old.
	Restarted bool
	// Lost says that a majority has lost the job.
	Lost bool
	// Empty is zero unless a majority does not know the job: these nodes know nothing from before Empty.
	Empty time.Time
	// SetBack is zero unless a majority has the job from the future: the nodes' clocks were set back. It is how far ahead of the
	// clocks these nodes are at least. Times in the state may be in the future then.
	SetBack time.Duration
}

// Decide returns the basis for the i-th job of a prepare, from the nodes' promises. The error says that too few of the answers can
// be used.
func (s *Store) Decide(promises []Promise, i int) (Basis, error) {
	q := s.config.Quorum
	var b Basis
	votes, least := voting(promises, q)
	need := votes/2 + 1
	if b.SetBack = setBack(promises, i, need); b.SetBack > 0 {
		promises = believingAhead(promises, i, b.SetBack)
	}
	var failed []quorum.NodeError
	var present []Found
	var began []time.Time // of nodes without the job
	answered := 0
	chosen := majorityOf(presentOf(promises, i), q.Majority())
	for _, p := range promises {
		err := p.Err
		if err == nil {
			err = cmp.Or(p.Jobs[i].Err, p.Jobs[i].contradicts(chosen))
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
		case Stale:
			b.Floor = latest(b.Floor, p.Began.Add(Ahead))
		case None:
			b.Floor, b.Deleted = latest(b.Floor, p.Floor), latest(b.Deleted, p.Floor)
			if !p.New {
				b.Floor = latest(b.Floor, p.Began.Add(Ahead))
				began = append(began, p.Began)
			}
		}
		b.take(found)
	}
	if answered < least {
		short := quorum.Shortfall{Size: q.Size(), Need: least, Got: answered, Nodes: failed}
		return Basis{}, short.Of("read of a job", ErrNoQuorum, nil)
	}
	if len(present) >= q.Majority() {
		b.Floor = time.Time{}
		b.dropUnchosen(present, q)
	}
	b.Complete, b.Restarted = answered == q.Size(), b.Known && len(present) == 0
	b.Unsure = !b.Complete && len(b.State.Open) > 0 && b.named(present) < q.Majority()
	if len(began) >= need {
		slices.SortFunc(began, time.Time.Compare)
		b.Empty = began[len(began)-need]
	}
	b.Lost = b.Known && b.Empty.After(b.State.Since)
	return b, nil
}

// voting returns how many nodes had something to lose, and how many must be heard: all, unless a majority owes nothing to earlier lists.
func voting(promises []Promise, q *quorum.Quorum) (votes, least int) {
	whole, fresh := 0, 0
	for _, p := range promises {
		if p.Err == nil && !p.Owes {
			whole++
		}
		if p.New {
			fresh++
		}
	}
	if whole >= q.Majority() {
		return q.Size(), q.Majority()
	}
	return q.Size() - fresh, q.Size()
}

// presentOf returns the states of the i-th job that nodes have in their present incarnation.
func presentOf(promises []Promise, i int) (present []*Found) {
	for _, p := range promises {
		if p.Err == nil && p.Jobs[i].Err == nil && p.Jobs[i].Kind == Present {
			present = append(present, &p.Jobs[i])
		}
	}
	return present
}

// majorityOf returns the state that a majority of the nodes has, or nil if there is none.
func majorityOf(present []*Found, majority int) *Found {
	for n, f := range present {
		same := 0
		for _, other := range present[n:] {
			if other.isSame(f) {
				same++
			}
		}
		if same >= majority {
			return f
		}
	}
	return nil
}

func (f *Found) isSame(other *Found) bool { return f.At == other.At && f.text == other.text }

// contradicts returns an error if a node's state differs from the majority's state at the same position. The library writes only
// one state at each position, so somebody else has changed the node's.
func (f *Found) contradicts(chosen *Found) error {
	if chosen != nil && f.Kind != None && f.At == chosen.At && f.text != chosen.text {
		return errors.New("its state is not the one that a majority has under the same ballot and number")
	}
	return nil
}

// take keeps the state that was written last.
func (b *Basis) take(f Found) {
	if f.Kind != None && (!b.Known || f.At.IsAfter(b.At)) {
		b.Known, b.Written = true, f.Written
	}
}

// dropUnchosen goes back to the newest state that a majority may have stored, or had before a newer one. present are the states of the
// nodes in their present incarnation, at least a majority. They have promised the new ballot, so no majority has stored a state that
// too few of them and of the other nodes can have, and none ever will. If the newer state only adds ends of open runs, it is kept,
// since no other node may know these ends.
func (b *Basis) dropUnchosen(present []Found, q *quorum.Quorum) {
	present = slices.Clone(present)
	slices.SortFunc(present, func(x, y Found) int { return y.At.compare(x.At) })
	others := q.Size() - len(present)
	f := present[max(q.Majority()-1-others, 0)]
	if b.At.IsAfter(f.At) && !onlyEnds(b.State, f.State) {
		b.Written = f.Written
	}
}

// named returns how many nodes have the chosen state.
func (b *Basis) named(present []Found) (n int) {
	for _, f := range present {
		if f.At == b.At {
			n++
		}
	}
	return n
}

// onlyEnds reports whether a state differs from an older one only by runs that have ended.
func onlyEnds(s, older State) bool {
	for _, o := range s.Open {
		if !slices.ContainsFunc(older.Open, func(other Open) bool { return other.ID == o.ID }) {
			return false
		}
	}
	older.Open, older.Waits, older.Skipped, older.Last, older.LastOK = s.Open, s.Waits, s.Skipped, s.Last, s.LastOK
	older.ByHand, older.Failures, older.Reruns = s.ByHand, s.Failures, s.Reruns
	return bytes.Equal(s.append(nil), older.append(nil))
}

// Recall makes the basis of a job that no node knows, or of which all nodes have older data, from what this process knew of it. It
// returns false if the nodes have not lost that, or the job was deleted. If the view is ahead of now, the nodes' clocks were set back
// since, and showed at most until before that: ticks up to then may have been opened.
func (b *Basis) Recall(v *View, now, until time.Time) bool {
	taken := v.At.Ballot.Time()
	isLater := taken.After(b.Empty.Add(Ahead)) && !taken.After(now.Add(Ahead))
	isLost := !b.Known && !b.Empty.IsZero() && !isLater || b.Restarted && v.At.IsAfter(b.At)
	if !isLost || !b.Deleted.Before(v.State.Mark) {
		return false
	}
	if by := latest(latest(v.State.Mark, v.State.newest()), taken).Sub(now); by > Ahead {
		b.SetBack, b.Floor = max(b.SetBack, by), latest(b.Floor, until)
	}
	b.Known, b.Lost, b.State = true, true, v.State
	return true
}

// Continues reports whether the states that the leader stored last are still the last ones, because only the leader has written.
// That is so if a majority promises its new ballot and served one of its own ballots just before, and lost nothing in between.
//
// own are the leader's ballots that a majority is known to have promised. Other ballots of the leader must not be among them: a node
// may have promised one of those after another leader's ballot, whose writes nobody has read.
func (s *Store) Continues(promises []Promise, own []Ballot) bool {
	n := 0
	for _, p := range promises {
		if p.Err == nil && p.Previous.Began.Equal(p.Began) && slices.Contains(own, p.Previous.Promised) {
			n++
		}
	}
	return n >= s.config.Quorum.Majority()
}

// Epoch returns the epoch of the next ballot: the largest one that a majority has promised. A single node's larger epoch counts for one
// more, because its clock may have been set back, and not for more, because it may lie. A leader that needs this node takes several
// ballots.
func (s *Store) Epoch(taken Ballot, promises []Promise) int {
	var all []int
	for _, p := range promises {
		if fenced, ok := errors.AsType[*FencedError](p.Err); ok {
			all = append(all, fenced.Header.Promised.Epoch())
		} else if p.Err == nil {
			all = append(all, taken.Epoch())
		}
	}
	slices.Sort(all)
	epoch := taken.Epoch()
	if n := len(all) - s.config.Quorum.Majority(); n >= 0 {
		epoch = max(epoch, all[n])
	}
	if len(all) > 0 && all[len(all)-1] > epoch {
		epoch++
	}
	return epoch
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
