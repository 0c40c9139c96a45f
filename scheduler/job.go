package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/internal/name"
)

const maxRetries = 100

// Job is a piece of work and its timetable.
type Job struct {
	// Name is who the job is on every replica: 1 to 200 bytes of UTF-8 without control characters.
	Name string
	// Spec says when it ticks; see [Parse].
	Spec string
	// Run does the work of one tick. Its context ends before anybody else can lead.
	Run func(ctx context.Context, run Run) error

	// Location is the zone of a Spec that names none; that of the Scheduler if nil.
	Location *time.Location
	// Timeout bounds a run, its retries included; 0 is no bound. A Run that does not return then
	// still counts as under way.
	Timeout time.Duration
	// Overlap says what happens to a tick that comes while a run of the job is under way.
	Overlap Overlap
	// Retry says what happens when Run returns an error or panics.
	Retry Retry
}

// Overlap is what happens to a tick that comes while a run of the same job is under way.
type Overlap int

const (
	// Skip does not run it.
	Skip Overlap = iota
	// Queue runs it when that run has returned. One tick waits at most: a newer one takes its
	// place, since after a long run the newest is the one that is nearest to what is due.
	Queue
	// Replace ends that run's context with [ErrReplaced] and runs the tick when it has returned.
	// Meanwhile a newer tick takes its place.
	Replace
	// Allow runs it at once, beside the other.
	Allow
)

// Retry is how a run tries again after an error or a panic. It does not while the leader drains.
type Retry struct {
	// Times is how often at most, after the first attempt; 0 to 100.
	Times int
	// Wait is the shortest pause before the first retry; 0 is one second. It doubles with each
	// retry until it is above an hour; up to as much again is added at random.
	Wait time.Duration
}

// job is a Job that was added.
type job struct {
	Job
	schedule cron.Schedule
	where    string // it was added, for people
}

// newJob checks a job. With an error, which has all its problems, the job is good for its name only.
func newJob(j Job, where string, loc *time.Location) (*job, error) {
	var problems []error
	if err := name.Check("name", j.Name); err != nil {
		problems = append(problems, fmt.Errorf("%w: %w, at %s", ErrName, err, where))
	}
	if j.Location != nil {
		loc = j.Location
	}
	schedule, err := parse(j.Spec, loc)
	if err != nil {
		problems = append(problems, fmt.Errorf("%w %.64q of job %q: %w", ErrSpec, j.Spec, j.Name, err))
	}

	check := func(ok bool, format string, args ...any) {
		if !ok {
			format = "scheduler: job %q: " + format
			problems = append(problems, fmt.Errorf(format, append([]any{j.Name}, args...)...))
		}
	}
	check(j.Run != nil, "Run is nil")
	check(j.Timeout >= 0, "timeout %v must not be negative", j.Timeout)
	check(j.Overlap >= Skip && j.Overlap <= Allow,
		"overlap %d must be Skip, Queue, Replace or Allow (%d to %d)", j.Overlap, Skip, Allow)
	check(j.Retry.Times >= 0 && j.Retry.Times <= maxRetries,
		"retry times %d must be from 0 to %d", j.Retry.Times, maxRetries)
	check(j.Retry.Wait >= 0, "retry wait %v must not be negative", j.Retry.Wait)
	return &job{Job: j, schedule: schedule, where: where}, errors.Join(problems...)
}
