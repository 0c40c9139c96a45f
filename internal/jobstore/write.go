package jobstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// MaxSeq bounds the calls of Write under one ballot.
const MaxSeq = 99_999_999

// Write is a new state of a job.
type Write struct {
	Job     string
	Follows At       // position of the state from which this one was made
	State   *State   // does not change any more
	Opens   bool     // it opens a tick
	Ended   []Record // for the history, the newest last
}

// Write stores states of jobs, at most [MaxJobs], under the ballot that was promised to their leader. seq grows from call to call
// under one ballot, up to [MaxSeq]. The error of a job is nil if a majority has stored its state. Otherwise it is [ErrFenced] if
// larger ballots are the reason, and else [ErrNoQuorum]. Write does not send a state with more than [MaxOpen] open runs. unserved are
// nodes that take part again only under a larger ballot.
//
// Write calls lacks for each other node that has not stored all of the states, with the indices of those that it lacks. It does so
// when the node's call is over, which may be after Write has returned, on any goroutine. later is the largest number under this
// ballot that the node says it has stored instead; 0: none. If no call has used that number, somebody else has changed the node's
// data, and the node stores nothing under this ballot any more.
func (s *Store) Write(
	ctx context.Context, b Ballot, seq int, writes []*Write, lacks func(node int, writes []int, later int),
) (errs []error, unserved []*UnservedError) {
	if seq > MaxSeq {
		err := fmt.Errorf("write %d under one ballot: there are at most %d", seq, MaxSeq)
		return slices.Repeat([]error{err}, len(writes)), nil
	}
	from := len(s.runsKey("")) + 1
	args := append(s.leading(ctx), string(b), At{b, seq}.encode()[ballotLen:], from)
	keys := s.keys(s.namesKey())
	errs = make([]error, len(writes))
	var sent []int // indices of writes
	for i, w := range writes {
		if err := w.State.check(); err != nil {
			errs[i] = fmt.Errorf("write of %s: %w", Label(w.Job), err)
			continue
		}
		sent = append(sent, i)
		keys = append(keys, s.runsKey(w.Job))
		args = w.appendArgs(args)
	}
	if len(sent) == 0 {
		return errs, nil
	}
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, newCall(writeScript, keys, args), func(answers []quorum.Answer[[]error]) bool {
		for n := range sent {
			if !quorum.IsDecided(q, answers, stores(n)) {
				return false
			}
		}
		return true
	})
	round.Then(func(node int, a quorum.Answer[[]error]) {
		if missing, later := missing(a, sent); len(missing) > 0 || later > 0 {
			lacks(node, missing, later)
		}
	})
	answers := round.Answers()
	for node, a := range answers {
		if e, ok := errors.AsType[*UnservedError](a.Err); ok {
			e.Node = node
			unserved = append(unserved, e)
		}
	}
	for n, i := range sent {
		errs[i] = s.outcome(writes[i].Job, answers, n, cause)
	}
	return errs, unserved
}

// missing returns which of the sent writes a node has not stored. It returns none if the node serves only larger ballots, because the
// node gets all jobs again under one of these. A write that a later state replaced is not missing either; later is the largest number of
// such a state.
func missing(a quorum.Answer[[]error], sent []int) (missing []int, later int) {
	if errors.Is(a.Err, ErrFenced) || errors.Is(a.Err, ErrStateLost) || errors.Is(a.Err, ErrYoung) {
		return nil, 0
	}
	for n, i := range sent {
		err := of(a, n)
		if late, ok := errors.AsType[*lateError](err); ok {
			later = max(later, late.seq)
		} else if err != nil {
			missing = append(missing, i)
		}
	}
	return missing, later
}

// lateError has the number of the later state that is stored. It is an [ErrLate].
type lateError struct{ seq int }

func (e *lateError) Error() string { return fmt.Sprintf("%v, number %d", ErrLate, e.seq) }

// Unwrap returns ErrLate.
func (*lateError) Unwrap() error { return ErrLate }

// appendArgs appends the arguments of the script for one job.
func (w *Write) appendArgs(args []any) []any {
	ended := w.Ended[max(len(w.Ended)-maxRecords, 0):]
	entry := fmt.Appendf(make([]byte, 0, 512), "%-*s%0*d%0*d", ballotLen+seqLen, w.Follows.encode(),
		markLen, max(w.State.Mark.UnixMilli(), 0), recordsLen, len(ended))
	args = append(args, w.State.append(entry))
	for i := range ended {
		args = append(args, encode(ended[i].code))
	}
	return args
}

// stores returns a function that returns the result of the i-th write at a node.
func stores(i int) func(int, *quorum.Answer[[]error]) error {
	return func(_ int, a *quorum.Answer[[]error]) error { return of(*a, i) }
}

// of returns the result of the i-th write at a node.
func of(a quorum.Answer[[]error], i int) error {
	switch {
	case a.Err != nil:
		return a.Err
	case i >= len(a.Value):
		return errors.New("unexpected reply: it has too few jobs")
	}
	return a.Value[i]
}

// outcome returns the error of the i-th write, or nil if a majority has stored it.
func (s *Store) outcome(job string, answers []quorum.Answer[[]error], i int, cause error) error {
	short, ok := quorum.Collect(s.config.Quorum, answers, stores(i))
	if ok {
		return nil
	}
	return short.Of("write of "+Label(job), kindOf(short), cause)
}

// readWritten reads the reply of the script write. It returns an error for each job, or nil if it is stored.
func readWritten(r *reply) (errs []error) {
	for r.more() {
		var err error
		switch code, n := r.item("yla"); code {
		case 'l':
			err = &lateError{int(n)}
		case 'a':
			err = fmt.Errorf("the mark is %w", ErrAhead)
		}
		errs = append(errs, err)
	}
	return errs
}
