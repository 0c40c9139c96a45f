package jobmachine

// Job returns the job.
func (m *Machine) Job() *Job { return m.job }

// Spans returns how many spans the machine keeps.
func (m *Machine) Spans() int { return len(m.spans) }
