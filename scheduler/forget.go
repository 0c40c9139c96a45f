package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/name"
)

// Forget deletes a job, its pause and its history from the nodes. Any replica may call it. It is for jobs that no replica has any
// more: while the leader has the job, it returns [ErrJobInUse]. A node that does not answer keeps its data, so the job may appear
// again; then call Forget once more. Any other error says that too few nodes have deleted the job.
func (s *Scheduler) Forget(ctx context.Context, job string) error {
	if err := name.Check("name", job); err != nil {
		return fmt.Errorf("%w: %w", ErrName, err)
	}
	err := s.store.Forget(ctx, job, 3*s.pollEvery())
	if errors.Is(err, jobstore.ErrInUse) {
		return fmt.Errorf("%w: %w", ErrJobInUse, err)
	}
	if err != nil {
		return publicError("forget", job, err)
	}
	return nil
}
