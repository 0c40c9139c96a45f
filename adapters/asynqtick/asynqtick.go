package asynqtick

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hibiken/asynq"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	minRetention = time.Hour
	maxRetention = 90 * 24 * time.Hour // asynq does not keep archived tasks longer
	// apart is how much the clocks of replicas and of asynq's servers may differ.
	apart = time.Minute
)

// ErrTooOld is returned for a second or later attempt at a tick, if the tick is so old that asynq may have processed
// and deleted its task.
var ErrTooOld = errors.New("asynqtick: too old to tell whether the task was enqueued")

// Job returns a function for [scheduler.Job] that enqueues a task of the given type, with the key of the run as its
// ID. If there is a task with that ID already, an earlier attempt has enqueued it, and the run succeeds.
//
// The retention is how long a completed task is kept, from an hour to 90 days. Too short: a tick that is attempted
// again after an outage fails with [ErrTooOld]. Too long: completed tasks fill the memory of the queue's Redis. See the
// package documentation.
//
// payload makes the payload of the task; nil means none. It must return the same for each attempt at a tick, because
// any of them may be the one that is enqueued. If it fails, the run fails with its error.
//
// opts are asynq's options, except those that conflict with Job. Job sets TaskID and Retention itself, Unique and Group
// merge tasks of different ticks, and Deadline and ProcessAt are one instant for all ticks. The error lists all
// problems of the arguments.
func Job(
	client *asynq.Client, taskType string, retention time.Duration,
	payload func(ctx context.Context, run scheduler.Run) ([]byte, error), opts ...asynq.Option,
) (func(ctx context.Context, run scheduler.Run) error, error) {
	var problems []error
	if client == nil {
		problems = append(problems, errors.New("the client is nil"))
	}
	if strings.TrimSpace(taskType) == "" {
		problems = append(problems, errors.New("the type of the task is empty"))
	}
	if retention < minRetention || retention > maxRetention {
		problems = append(problems, fmt.Errorf("retention %v must be from %v to %v", retention, minRetention, maxRetention))
	}
	for i, opt := range opts {
		if err := problem(opt); err != nil {
			problems = append(problems, fmt.Errorf("option %d of %d: %w", i+1, len(opts), err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("asynqtick: task %q: %w", taskType, err)
	}
	s := sender{client, taskType, retention, payload, slices.Clone(opts)}
	return s.send, nil
}

// problem returns why an option cannot be used.
func problem(opt asynq.Option) error {
	if opt == nil {
		return errors.New("it is nil")
	}
	switch opt.Type() {
	case asynq.TaskIDOpt:
		return fmt.Errorf("%v: the ID is the key of the run", opt)
	case asynq.RetentionOpt:
		return fmt.Errorf("%v: the retention is an argument of Job", opt)
	case asynq.UniqueOpt:
		return fmt.Errorf("%v: it refuses a tick's task while the task of another tick exists", opt)
	case asynq.GroupOpt:
		return fmt.Errorf("%v: a group becomes one task with another ID, and the IDs of its tasks are lost", opt)
	case asynq.DeadlineOpt, asynq.ProcessAtOpt:
		return fmt.Errorf("%v: it would be the same instant for every tick, use Timeout or ProcessIn", opt)
	case asynq.QueueOpt:
		if name, ok := opt.Value().(string); ok && strings.TrimSpace(name) == "" {
			return errors.New("the name of the queue is empty")
		}
	}
	return nil
}

type sender struct {
	client    *asynq.Client
	taskType  string
	retention time.Duration
	payload   func(context.Context, scheduler.Run) ([]byte, error)
	opts      []asynq.Option
}

// send is the Run function of the job.
func (s sender) send(ctx context.Context, run scheduler.Run) error {
	var payload []byte
	if s.payload != nil {
		var err error
		if payload, err = s.payload(ctx, run); err != nil {
			return err
		}
	}
	if ctx.Err() != nil { // the next leader enqueues it
		return fmt.Errorf("asynqtick: %s is not enqueued: %w", run.Key(), context.Cause(ctx))
	}
	if age := time.Since(run.Tick); run.Attempt > 1 && age > s.retention-apart {
		return fmt.Errorf("%w: attempt %d at %s comes %v after its tick, completed tasks are kept for %v",
			ErrTooOld, run.Attempt, run.Key(), age.Round(time.Second), s.retention)
	}
	_, err := s.client.EnqueueContext(ctx, asynq.NewTask(s.taskType, payload), s.with(run.Key())...)
	switch {
	case errors.Is(err, asynq.ErrTaskIDConflict):
		return nil
	case err != nil:
		return fmt.Errorf("asynqtick: failed to enqueue %s as a task %q: %w", run.Key(), s.taskType, err)
	}
	return nil
}

func (s sender) with(id string) []asynq.Option {
	return append(slices.Clone(s.opts), asynq.TaskID(id), asynq.Retention(s.retention))
}
