package jobmachine

// Job returns the job.
func (m *Machine) Job() *Job { return m.job }
