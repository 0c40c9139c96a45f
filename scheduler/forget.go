package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/name"
)

// Forget deletes a job and its past, its pause and its history, from the nodes, from any replica. It is for jobs that no replica
// has any more: while the leader has the job, it is refused ([ErrJobInUse]). A node that does not answer keeps what it has; so
// the job may appear again, and can be forgotten again. Any other error says that too few nodes have forgotten it.
func (s *Scheduler) Forget(ctx context.Context, job string) error {
	if err := name.Check("name", job); err != nil {
		return fmt.Errorf("%w: %w", ErrName, err)
	}
	err := s.store.Forget(ctx, job)
	if errors.Is(err, jobstore.ErrInUse) {
		return fmt.Errorf("%w: %w", ErrJobInUse, err)
	}
	if err != nil {
		return publicError("forget", job, err)
	}
	return nil
}
