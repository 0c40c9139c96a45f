package scheduler_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func ExampleScheduler() {
	nodes := nodetest.Start(3)
	defer nodes.Close()
	// or redlock.Open([]string{"r1:6379", ...}); without a guard, since these nodes are thrown away
	locker, err := redlock.New(nodes.Links().Clients(), redlock.WithoutRestartGuard())
	if err != nil {
		fmt.Println(err)
		return
	}
	elector, err := election.New(locker, "billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	jobs, err := scheduler.New(elector)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	err = jobs.Add(scheduler.Job{
		Name: "report", Spec: "* * * * * *", Timeout: time.Minute,
		Run: func(_ context.Context, run scheduler.Run) error {
			fmt.Printf("run %d of a tick, with a token: %v\n", run.Attempt, run.Token > 0)
			stop() // as SIGTERM would: the run may finish, the next replica leads when it has
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(elector.Run(ctx))

	history, err := jobs.History(context.Background(), "report", 1) // from any replica
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(history[0].State, locker.Close(context.Background()))
	// Output:
	// run 1 of a tick, with a token: true
	// <nil>
	// ok <nil>
}

// On 25 October 2026 the clocks of Berlin are set back from 3:00 to 2:00: a tick within that hour comes once, the first
// time.
func ExampleNext() {
	ticks, err := scheduler.Next("CRON_TZ=Europe/Berlin 30 2 * * *", time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC), 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tick := range ticks {
		fmt.Println(tick.Format("02 Jan 15:04 MST"))
	}
	// Output:
	// 24 Oct 00:30 UTC
	// 25 Oct 00:30 UTC
	// 26 Oct 01:30 UTC
}
