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

// Change is a call to [Scheduler.Pause], [Scheduler.Resume] or [Scheduler.Trigger].
type Change struct {
	Job    string
	What   string // "pause", "resume" or "trigger"
	By     string // who made the change, from [As]; empty if not given
	Reason string // from [Because]; empty if not given
	From   string // the replica that made the call
	At     time.Time
}

type (
	whoKey struct{}
	whyKey struct{}
)

// As returns a context that names who calls [Scheduler.Pause], [Scheduler.Resume] or [Scheduler.Trigger]: a user that the caller
// has authenticated. The name is logged, stored with the change, and shown. It has 1 to 200 bytes of UTF-8 without control
// characters.
func As(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// Because returns a context with a reason for [Scheduler.Pause], [Scheduler.Resume] or [Scheduler.Trigger]. The reason is logged,
// stored with the change, and shown. It has 1 to 200 bytes of UTF-8 without control characters.
func Because(ctx context.Context, reason string) context.Context {
	return context.WithValue(ctx, whyKey{}, reason)
}

// textIn returns the text that was passed to As or Because, or "" if there was none.
func textIn(ctx context.Context, key any, what string) (string, error) {
	text, is := ctx.Value(key).(string)
	if !is {
		return "", nil
	}
	if err := name.CheckText(what, text); err != nil {
		return "", fmt.Errorf("%w: %w", ErrName, err)
	}
	return text, nil
}

// Changes returns the newest twenty changes of a job, the newest first, as the nodes say. They may include a change
// whose call returned an error.
func (s *Scheduler) Changes(ctx context.Context, job string) ([]Change, error) {
	if err := name.Check("name", job); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrName, err)
	}
	past, err := s.store.Past(ctx, job)
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
	c := Change{Job: job, What: "resume", By: s.By, Reason: s.Why, From: s.From, At: s.At()}
	switch {
	case isTrigger:
		c.What = "trigger"
	case s.On:
		c.What = "pause"
	}
	return c
}

// reportChange reports a change that the leader has applied.
func (l *loop) reportChange(job string, s jobmachine.Setting) {
	c := changeOf(job, s.Setting, s.IsTrigger)
	l.log.Info("change applied", zap.String("job", job), zap.String("what", c.What), zap.String("by", c.By),
		zap.String("reason", c.Reason), zap.String("from", c.From), zap.Time("asked", c.At))
	l.s.hooks.changed(c)
}
