package scheduler

// SetMaxSeq sets how often the scheduler writes under one ballot.
func (s *Scheduler) SetMaxSeq(n int) { s.maxSeq = n }

// ForgetWakes makes the leader forget when its jobs need action, as an error of its own would.
func (s *Scheduler) ForgetWakes() {
	l := s.newestLoop()
	l.inbox.post(func() { l.agenda.clear() })
}
