package leadercron_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/adapters/leadercron"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestMain(m *testing.M) { testmain.Run(m) }

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
