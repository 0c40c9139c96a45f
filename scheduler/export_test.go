package scheduler

import (
	"context"

	"github.com/redlockfx/redlockfx/redlock"
)

// SetMaxSeq sets how often the scheduler writes under one ballot.
func (s *Scheduler) SetMaxSeq(n int) { s.maxSeq = n }

// ForgetWakes makes the leader forget when its jobs need action, as an error of its own would.
func (s *Scheduler) ForgetWakes() {
	l := s.newestLoop()
	l.inbox.post(func() { l.agenda.clear() })
}

// ServeOn is Serve on the nodes of a Locker, which it closes.
func ServeOn(ctx context.Context, locker *redlock.Locker, name string, work ...Work) error {
	var s service
	for _, w := range work {
		w.add(&s)
	}
	return s.serve(ctx, locker, name)
}
