package scheduler

import (
	"context"

	"github.com/robfig/cron/v3"
)

// WrapCron turns a job written for robfig/cron into a function for [Job].Run. Such a job gets no context, so it does not stop when
// its run's context ends. Its run counts as under way until it returns.
func WrapCron(job cron.Job) func(context.Context, Run) error {
	if job == nil {
		return nil // Add refuses it
	}
	return func(context.Context, Run) error {
		job.Run()
		return nil
	}
}
