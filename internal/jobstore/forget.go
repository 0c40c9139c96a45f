package jobstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// ErrInUse says that the leader has the job.
var ErrInUse = errors.New("the leader has the job")

// Forget deletes a job and its history from all nodes that answer, a majority at least. It returns [ErrInUse] if the present
// leader has written the job, since the leader would write it again. A node that does not answer keeps what it has, so the job
// may appear again. [ErrNoQuorum].
func (s *Store) Forget(ctx context.Context, job string) error {
	views, header, _, err := s.Views(ctx, job)
	if err != nil {
		return err
	}
	stands := ""
	if len(views) > 0 {
		v := views[0]
		if v.At.Ballot == header.Promised && !v.State.Removed {
			return fmt.Errorf("job %q: %w: %s, since %v", job, ErrInUse, header.Leader.Replica, header.Promised.Time())
		}
		stands = fmt.Sprintf("%s%0*d", v.At.Ballot, seqLen, v.At.Seq)
	}
	args := append(s.writing[:len(s.writing):len(s.writing)], job, stands)
	keys := s.keys(s.namesKey(), s.changesKey(), s.runsKey(job))
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, newCall(forgetScript, keys, args), func(answers []quorum.Answer[struct{}]) bool {
		for _, a := range answers {
			if !a.Over {
				return false
			}
		}
		return true
	})
	done := 0
	var failed []quorum.NodeError
	for i, a := range round.Answers() {
		if a.Err == nil {
			done++
		} else {
			failed = append(failed, quorum.NodeError{Addr: q.Addr(i), Err: a.Err})
		}
	}
	if done >= q.Majority() {
		return nil
	}
	return s.shortfall(fmt.Sprintf("forget of %q", job), done, failed, ErrNoQuorum, cause)
}

func readForgotten(r *quorum.Reply) (none struct{}, err error) {
	if _, err := readHeader(r); err != nil {
		return none, err
	}
	code, _, _, err := r.Item()
	if err == nil && code != 'y' {
		err = fmt.Errorf("%w: it has been written since", ErrInUse)
	}
	return none, err
}
