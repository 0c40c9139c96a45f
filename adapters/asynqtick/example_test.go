package asynqtick_test

import (
	"context"
	"encoding/json"
	"log"
	"time"

	"github.com/hibiken/asynq"

	"github.com/redlockfx/redlockfx/adapters/asynqtick"
	"github.com/redlockfx/redlockfx/scheduler"
)

var scheduled *scheduler.Scheduler

func Example() {
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: "10.0.0.9:6379"})
	payload := func(_ context.Context, run scheduler.Run) ([]byte, error) {
		return json.Marshal(map[string]time.Time{"until": run.Tick})
	}
	send, err := asynqtick.Job(client, "invoices:send", 72*time.Hour, payload, asynq.Queue("billing"), asynq.MaxRetry(10))
	if err != nil {
		log.Fatal(err)
	}
	err = scheduled.Add(scheduler.Job{
		Name: "invoices", Spec: "0 2 * * *", AtLeastOnce: true, Retry: scheduler.Retry{Times: 5}, Run: send,
	})
	if err != nil {
		log.Fatal(err)
	}
}
