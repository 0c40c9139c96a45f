package checkin_test

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/redlockfx/redlockfx/adapters/checkin"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

var elector *election.Elector

func Example() {
	urls := map[string]string{"invoices": os.Getenv("INVOICES_PING_URL")} // as in https://hc-ping.com/UUID
	checks, err := checkin.New(checkin.Config{
		Service: checkin.Healthchecks, URL: func(job string) string { return urls[job] },
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = scheduler.New(elector, scheduler.WithHooks(checks.Hooks()))
	if err != nil {
		log.Fatal(err)
	}
	// Add the jobs and run the elector. When it has returned, the last ends are sent:
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := checks.Close(ctx); err != nil {
		log.Print(err)
	}
}
