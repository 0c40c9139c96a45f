package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func sendInvoices(context.Context, string, uint64) error { return nil }

// The whole of a program. It logs to slog, and hands over when the process is told to stop.
func Example() {
	job := scheduler.Job{
		Name: "invoices", Spec: "0 2 * * *",
		Run: func(ctx context.Context, run scheduler.Run) error {
			return sendInvoices(ctx, run.Key(), run.Token) // ctx ends before another replica can lead
		},
	}
	urls := []string{os.Getenv("REDIS_URL")} // one Redis, or the URLs of three or five
	if err := scheduler.Serve(context.Background(), urls, "billing", job); err != nil {
		log.Fatal(err)
	}
}

func ExampleScheduler() {
	nodes, err := redlocktest.Start(3) // in memory
	if err != nil {
		log.Fatal(err)
	}
	defer nodes.Close()
	// In production: redlock.Open([]string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"})
	locker, err := redlock.New(nodes.Process().Clients())
	if err != nil {
		log.Fatal(err)
	}
	elector, err := election.New(locker, "billing")
	if err != nil {
		log.Fatal(err)
	}
	jobs, err := scheduler.New(elector)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	err = jobs.Add(scheduler.Job{
		Name: "report", Spec: "* * * * * *", Timeout: time.Minute,
		Run: func(_ context.Context, run scheduler.Run) error {
			fmt.Printf("run %d of a tick, with a token: %v\n", run.Attempt, run.Token > 0)
			stop() // like SIGTERM: the run may finish, then another replica leads
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(elector.Run(ctx))

	history, err := jobs.History(context.Background(), "report", 1) // from any replica
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(history[0].State, locker.Close(context.Background()))
	// Output:
	// run 1 of a tick, with a token: true
	// <nil>
	// ok <nil>
}

// A run has failed, and its cause is mended. Any replica can ask for the tick to run again, under its own key.
func ExampleScheduler_RerunAndWait() {
	nodes, err := redlocktest.Start(3) // in memory
	if err != nil {
		log.Fatal(err)
	}
	defer nodes.Close()
	elector, err := election.New(nodes.Process().Locker(), "billing")
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan scheduler.Record, 1)
	jobs, err := scheduler.New(elector, scheduler.WithHooks(scheduler.Hooks{
		Finished: func(r scheduler.Record) {
			select {
			case ended <- r:
			default: // the first one is enough
			}
		},
	}))
	if err != nil {
		log.Fatal(err)
	}
	err = jobs.Add(scheduler.Job{
		Name: "invoices", Spec: "* * * * * *",
		Run: func(_ context.Context, run scheduler.Run) error {
			if run.Rerun {
				return nil
			}
			return errors.New("no paper")
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- elector.Run(ctx) }()
	failed := <-ended
	fmt.Println(failed.State, failed.Attempt, failed.Err)

	again, err := jobs.RerunAndWait(ctx, "invoices", failed.Tick, scheduler.By("ann"), scheduler.Because("new paper"))
	fmt.Println(again.State, again.Attempt, again.Tick.Equal(failed.Tick), err)
	stop()
	fmt.Println(<-stopped)
	// Output:
	// failed 1 no paper
	// ok 2 true <nil>
	// <nil>
}

// On 25 October 2026 the clocks in Berlin are set back from 3:00 to 2:00. A tick within that hour comes only the first time.
func ExamplePreview() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		log.Fatal(err)
	}
	ticks, err := scheduler.Preview("30 2 * * *", berlin, time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC), 3)
	if err != nil {
		log.Fatal(err)
	}
	for _, tick := range ticks {
		fmt.Println(tick.Format("02 Jan 15:04 MST"))
	}
	// Output:
	// 24 Oct 00:30 UTC
	// 25 Oct 00:30 UTC
	// 26 Oct 01:30 UTC
}
