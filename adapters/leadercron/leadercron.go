// Package leadercron has robfig/cron run jobs on the leader alone:
//
//	jobs := cron.New(cron.WithChain(leadercron.OnLeader(elector)))
//
// It is a question before each run, and no claim: each replica ticks by its own clock, so around a change of the
// leader a tick may run twice, or not at all, and a run goes on when the lease is lost. Package scheduler has jobs
// that run once, whose contexts end in time.
package leadercron

import (
	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/election"
)

// OnLeader leaves a job's run out where elector does not lead when it is to begin.
func OnLeader(elector *election.Elector) cron.JobWrapper {
	return func(job cron.Job) cron.Job {
		return cron.FuncJob(func() {
			if elector.IsLeader() {
				job.Run()
			}
		})
	}
}
