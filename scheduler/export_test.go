package scheduler

// SetMaxSeq sets how often the scheduler writes under one ballot.
func (s *Scheduler) SetMaxSeq(n int) { s.maxSeq = n }
