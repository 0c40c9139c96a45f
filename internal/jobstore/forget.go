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

// Forget deletes a job and its history from all nodes that answer, at least a majority. It deletes nothing and returns [ErrInUse] if too
// many nodes say that the leader has written the job, or may not yet have written all of its jobs: it would write the job again. A
// leader from which a node has not heard for the time silence no longer leads. A node that does not answer keeps its data, so the job
// may appear again. If too few nodes answer, the error is [ErrNoQuorum].
func (s *Store) Forget(ctx context.Context, job string, silence time.Duration) error {
	args := append(s.asking(ctx), job, silence.Microseconds())
	entries, err := s.forget(ctx, job, args)
	if err != nil {
		return err
	}
	_, err = s.forget(ctx, job, append(args, slices.Max(entries)))
	return err
}

// forget returns the positions of the nodes' entries.
func (s *Store) forget(ctx context.Context, job string, args []any) (entries []string, err error) {
	keys := s.keys(s.requestsKey(), s.namesKey(), s.runsKey(job), s.pastKey(job))
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, newCall(forgetScript, keys, args), quorum.AllOver)
	inUse := 0
	short, ok := quorum.Collect(q, round.Answers(), func(_ int, a *quorum.Answer[string]) error {
		entries = append(entries, a.Value)
		if errors.Is(a.Err, ErrInUse) {
			inUse++
		}
		return a.Err
	})
	switch {
	case ok, inUse+short.Got >= short.Need && slices.Max(entries) == "": // perhaps only requests are left of it
		return entries, nil
	case inUse > 0:
		return nil, short.Of("forget of "+Label(job), ErrInUse, cause)
	}
	return nil, short.Of("forget of "+Label(job), ErrNoQuorum, cause)
}

func readForgotten(r *reply) (entry string) {
	h := r.header()
	code, _ := r.item("yo")
	if entry = r.text(); code == 'o' {
		r.fail(fmt.Errorf("%w, or may have it: %s, since %v", ErrInUse, h.Leader.Replica, h.Promised.Time()))
	}
	return entry
}
