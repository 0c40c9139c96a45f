package asynqtick_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/redlockfx/redlockfx/adapters/asynqtick"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/scheduler"
)

const retention = 2 * time.Hour

func (q *queue) job(t *testing.T, opts ...asynq.Option) func(context.Context, scheduler.Run) error {
	t.Helper()
	send, err := asynqtick.Job(q.client, "invoices", retention, payload, opts...)
	must(t, err)
	return send
}

func payload(_ context.Context, run scheduler.Run) ([]byte, error) {
	return []byte(run.Tick.String()), nil
}

// at returns a run of a tick that long ago.
func at(ago time.Duration, attempt int) scheduler.Run {
	return scheduler.Run{Job: "report", Tick: time.Now().Add(-ago).Truncate(time.Minute).UTC(), Token: 7, Attempt: attempt}
}

func TestJob_EnqueuesATaskWithTheKeyAsItsID(t *testing.T) {
	q := newQueue(t)
	run := at(time.Minute, 1)
	must(t, q.job(t, asynq.Queue("billing"), asynq.MaxRetry(3))(t.Context(), run))
	task, err := q.GetTaskInfo("billing", run.Key())
	must(t, err)
	if task.Type != "invoices" || string(task.Payload) != run.Tick.String() || task.MaxRetry != 3 || task.Retention != retention {
		t.Errorf("the task is %+v", task)
	}
}

func TestJob_IsRepeatedAfterALostAnswer(t *testing.T) {
	q := newQueue(t)
	send := q.job(t)
	must(t, send(t.Context(), at(2*time.Minute, 1))) // the script is loaded
	q.links.DropReplies()
	run := at(time.Minute, 1)
	if err := send(t.Context(), run); err == nil || !strings.Contains(err.Error(), run.Key()) {
		t.Fatalf("the answer was lost, and the error is %v", err)
	}
	q.links.Heal()
	run.Attempt = 2
	must(t, send(t.Context(), run))
	if n := q.size(t); n != 2 {
		t.Errorf("%d tasks for two ticks", n)
	}
}

// asynq knows the ID of a task after it was completed, and after it was archived.
func TestJob_KnowsTasksThatAreProcessed(t *testing.T) {
	for state, result := range map[string]error{"completed": nil, "archived": fmt.Errorf("no use: %w", asynq.SkipRetry)} {
		t.Run(state, func(t *testing.T) {
			q := newQueue(t)
			send, run := q.job(t), at(time.Minute, 1)
			calls := make(chan string, 10)
			q.serve(t, func(ctx context.Context, _ *asynq.Task) error {
				id, _ := asynq.GetTaskID(ctx)
				calls <- id
				return result
			})
			must(t, send(t.Context(), run))
			if id := <-calls; id != run.Key() {
				t.Errorf("the handler gets the ID %q", id)
			}
			bubble.Await(t, "the task is "+state, 2*time.Minute, func() bool {
				task, err := q.GetTaskInfo("default", run.Key())
				must(t, err)
				return task.State.String() == state
			})
			run.Attempt = 2
			must(t, send(t.Context(), run))
			other := at(5*time.Minute, 1)
			must(t, send(t.Context(), other)) // anything that the repetition enqueued is processed before this task
			if id := <-calls; id != other.Key() {
				t.Errorf("%q is processed again", id)
			}
		})
	}
}

func TestJob_RefusesARepetitionThatCouldBeForgotten(t *testing.T) {
	q := newQueue(t)
	send := q.job(t)
	err := send(t.Context(), at(retention, 2))
	if !errors.Is(err, asynqtick.ErrTooOld) || !strings.Contains(err.Error(), "attempt 2 at report@") {
		t.Errorf("a repetition after the retention: %v", err)
	}
	almost := at(0, 2)
	almost.Tick = time.Now().Add(30*time.Second - retention) // the clock of asynq's server may be ahead
	if err := send(t.Context(), almost); !errors.Is(err, asynqtick.ErrTooOld) {
		t.Errorf("a repetition 30 seconds before that: %v", err)
	}
	if n := q.size(t); n != 0 {
		t.Errorf("%d tasks", n)
	}
	must(t, send(t.Context(), at(retention-3*time.Minute, 2))) // asynq would still know the ID
	must(t, send(t.Context(), at(2*retention, 1)))             // there was nothing before it
	if n := q.size(t); n != 2 {
		t.Errorf("%d tasks for two ticks", n)
	}
}

func TestJob_EnqueuesNothingWithoutAPayloadOrAfterTheEndOfItsContext(t *testing.T) {
	q := newQueue(t)
	bad, lost := errors.New("no template"), errors.New("the lease was lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	for want, payload := range map[error]func(context.Context, scheduler.Run) ([]byte, error){
		bad: func(context.Context, scheduler.Run) ([]byte, error) { return nil, bad },
		lost: func(context.Context, scheduler.Run) ([]byte, error) {
			cancel(lost) // while the payload is made
			return nil, nil
		},
	} {
		send, err := asynqtick.Job(q.client, "invoices", retention, payload)
		must(t, err)
		if err := send(ctx, at(time.Minute, 1)); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if n := q.size(t); n != 0 {
		t.Errorf("%d tasks", n)
	}
}

func TestJob_RefusesWhatCannotWork(t *testing.T) {
	_, err := asynqtick.Job(nil, " ", time.Minute, nil, asynq.TaskID("x"), asynq.Retention(retention), asynq.Unique(time.Hour),
		asynq.Group("g"), asynq.Deadline(time.Now()), asynq.ProcessAt(time.Now()), nil, asynq.Queue(" "), asynq.MaxRetry(3))
	for _, problem := range []string{
		"client is nil", "type of the task is empty", "retention 1m0s must be from 1h0m0s to 2160h0m0s",
		"option 1 of 9: TaskID", "option 2 of 9: Retention", "option 3 of 9: Unique", "option 4 of 9: Group", "option 5 of 9: Deadline",
		"option 6 of 9: ProcessAt", "option 7 of 9: it is nil", "option 8 of 9: the name of the queue",
	} {
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("nothing about %q: %v", problem, err)
		}
	}
	if strings.Contains(err.Error(), "option 9") {
		t.Errorf("a good option is refused: %v", err)
	}
}

// size returns how many tasks the queue has.
func (q *queue) size(t *testing.T) int {
	t.Helper()
	queues, err := q.Queues()
	must(t, err)
	if len(queues) == 0 {
		return 0
	}
	info, err := q.GetQueueInfo("default")
	must(t, err)
	return info.Size + info.Completed
}
