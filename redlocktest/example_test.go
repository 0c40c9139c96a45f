package redlocktest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// t replaces the parameter of the test, which in your package is func TestReport_IsMadeOnceAnHour(t *testing.T).
var t *testing.T

// A job runs each hour for half a day. A node dies and comes back, and the leader's pod is replaced a second before a tick.
func Example() {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithTTL(time.Hour))
		var made atomic.Int64
		var replicas []*redlocktest.Replica
		for range 3 {
			r := nodes.Replica()
			err := r.Scheduler.Add(scheduler.Job{Name: "report", Spec: "0 * * * *",
				Run: func(context.Context, scheduler.Run) error {
					made.Add(1)
					return nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			r.Run()
			replicas = append(replicas, r)
		}
		time.Sleep(3*time.Hour - time.Minute) // since midnight UTC, when a bubble begins
		nodes.Stop(0)
		time.Sleep(10 * time.Minute)
		nodes.Restart(0)
		time.Sleep(3*time.Hour - 9*time.Minute - time.Second)
		for _, r := range replicas {
			if r.Elector.IsLeader() {
				if err := r.Stop(); err != nil {
					t.Error(err)
				}
			}
		}
		time.Sleep(6*time.Hour + 2*time.Second)
		if made.Load() != 12 {
			t.Errorf("%d reports were made in half a day", made.Load())
		}
	})
}
