package scheduler

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/name"
)

// Change is what somebody has asked for: [Scheduler.Pause], [Scheduler.Resume] or [Scheduler.Trigger].
type Change struct {
	Job  string
	What string // "pause", "resume" or "trigger"
	By   string // who, as the caller said
	At   time.Time
}

// Changes returns the newest twenty changes of a job, the newest first, as a quorum of nodes knows them. One that failed may be
// among them.
func (s *Scheduler) Changes(ctx context.Context, job string) ([]Change, error) {
	if err := name.Check("name", job); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrName, err)
	}
	past, err := s.store.Settings(ctx, job)
	if err != nil {
		return nil, publicError("changes of", job, err)
	}
	all := make([]Change, len(past))
	for i, p := range past {
		all[i] = changeOf(job, p.Setting, p.IsTrigger)
	}
	return all, nil
}

func changeOf(job string, s jobstore.Setting, isTrigger bool) Change {
	c := Change{Job: job, What: "resume", By: s.By, At: s.At()}
	switch {
	case isTrigger:
		c.What = "trigger"
	case s.On:
		c.What = "pause"
	}
	return c
}

// tellObeyed reports that what somebody has asked for holds.
func (l *loop) tellObeyed(job string, s jobmachine.Setting) {
	c := changeOf(job, s.Setting, s.IsTrigger)
	l.log.Info("change obeyed", zap.String("job", job), zap.String("what", c.What), zap.String("by", c.By), zap.Time("asked", c.At))
	l.s.hooks.changed(c)
}
