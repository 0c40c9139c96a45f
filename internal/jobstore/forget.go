package jobstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// ErrInUse says that the leader has the job.
var ErrInUse = errors.New("the leader has the job")

// Forget deletes a job and its history from all nodes that answer, at least a majority. It returns [ErrInUse] if the leader has
// written the job, or has not yet written all of its jobs: it would write the job again. A leader from which the nodes have not heard
// for the time silence no longer leads. A node that does not answer keeps its data, so the job may appear again. If too few nodes
// answer, the error is [ErrNoQuorum].
func (s *Store) Forget(ctx context.Context, job string, silence time.Duration) error {
	pages, now, err := s.read(ctx, "jobs", []any{"", 0, job}, never) // waits for all nodes: the header of one must not decide
	if err != nil {
		return err
	}
	header := s.headerOf(pages)
	newest := left(pages, header).encode()
	if views := s.views(pages, now); len(views) > 0 && views[0].Err == nil {
		v := views[0]
		leads := now.Sub(header.Alive) < silence
		switch {
		case v.State.Removed || !leads:
		case v.At.Ballot == header.Promised:
			return fmt.Errorf("job %q: %w: %s, since %v", job, ErrInUse, header.Leader.Replica, header.Promised.Time())
		case !header.Settled:
			return fmt.Errorf("job %q: perhaps %w: %s, since %v, has not written all of its jobs yet", job, ErrInUse,
				header.Leader.Replica, header.Promised.Time())
		}
		newest = v.At.encode()
	}
	args := append(slices.Clip(s.asking), job, newest)
	keys := s.keys(s.settingsKey(), s.namesKey(), s.changesKey(), s.runsKey(job), s.pastKey(job))
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, newCall(forgetScript, keys, args), quorum.AllOver)
	short, ok := quorum.Collect(q, round.Answers(), quorum.Succeeded)
	if ok {
		return nil
	}
	return short.Of(fmt.Sprintf("forget of %q", job), ErrNoQuorum, cause)
}

// left returns the newest position of a state that a node has kept because it did not answer when the job was forgotten. A state
// under the present ballot does not count, since the leader still writes the job, unless the state says that the job was removed.
func left(pages []page, header Header) (newest At) {
	for _, p := range pages {
		for i := range p.jobs {
			job := &p.jobs[i]
			isLeft := job.kind != None && (job.at.Ballot != header.Promised || job.decode(p.now).State.Removed)
			if isLeft && job.at.IsAfter(newest) {
				newest = job.at
			}
		}
	}
	return newest
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
