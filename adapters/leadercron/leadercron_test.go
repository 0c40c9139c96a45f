package leadercron_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"
	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/adapters/leadercron"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	nodes := nodetest.Start(1)
	defer nodes.Close()
	locker, err := redlock.New(nodes.Links().Clients(), redlock.WithoutRestartGuard()) // or Open with the addresses of 3 or 5
	if err != nil {
		fmt.Println(err)
		return
	}
	leads := make(chan struct{})
	elector, err := election.New(locker, "billing", election.OnLeader(func(ctx context.Context) {
		close(leads)
		<-ctx.Done()
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	jobs := cron.New(cron.WithChain(leadercron.OnLeader(elector)))
	id, err := jobs.AddFunc("0 2 * * *", func() { fmt.Println("invoices are sent") })
	if err != nil {
		fmt.Println(err)
		return
	}
	atTwo := jobs.Entry(id).WrappedJob.Run // what cron calls then
	atTwo()                                // nothing: this process does not lead
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- elector.Run(ctx) }()
	<-leads
	atTwo()
	stop()
	fmt.Println(errors.Join(<-ended, locker.Close(context.Background())))
	// Output:
	// invoices are sent
	// <nil>
}

func TestOnLeader_RunsOnTheLeaderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3)
		a, b := nodes.Replica(), nodes.Replica()
		var mu sync.Mutex // guards ran
		ran := make(map[string]int)
		a.Lead()
		b.Run()
		for _, r := range []*redlocktest.Replica{a, b} {
			jobs := cron.New(cron.WithLocation(time.UTC), cron.WithChain(leadercron.OnLeader(r.Elector)))
			_, err := jobs.AddFunc("* * * * *", func() {
				mu.Lock()
				defer mu.Unlock()
				ran[r.Elector.Identity()]++
			})
			if err != nil {
				t.Fatal(err)
			}
			jobs.Start()
			defer func() { <-jobs.Stop().Done() }()
		}
		want := func(first, second int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if ran[a.Elector.Identity()] != first || ran[b.Elector.Identity()] != second {
				t.Errorf("ran %v, want %d and %d", ran, first, second)
			}
		}
		time.Sleep(5*time.Minute + time.Second)
		want(5, 0)
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		want(5, 3)
	})
}
