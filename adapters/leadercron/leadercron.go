// Package leadercron makes robfig/cron run jobs on the leader alone:
//
//	jobs := cron.New(cron.WithChain(leadercron.OnLeader(elector)))
//
// It checks before each run whether this process leads, and claims no tick. Each replica ticks by its own clock, so
// around a change of leader a tick may run twice or not at all, and a run continues when the lease is lost. With
// package scheduler each tick runs once, and the contexts of runs end in time.
package leadercron

import (
	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/election"
)

// OnLeader returns a wrapper that skips a run if elector does not lead when the run would start.
func OnLeader(elector *election.Elector) cron.JobWrapper {
	return func(job cron.Job) cron.Job {
		return cron.FuncJob(func() {
			if elector.IsLeader() {
				job.Run()
			}
		})
	}
}
