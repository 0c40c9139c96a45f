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

// The README has the body of this test.
func TestReadme_ANightInAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		invoices := scheduler.Job{Name: "invoices", Spec: "0 2 * * *", Run: func(context.Context, scheduler.Run) error {
			sent.Add(1)
			return nil
		}}

		nodes := redlocktest.New(t, 3, redlock.WithTTL(10*time.Minute)) // few renewals: faster
		for range 3 {
			r := nodes.Replica()
			if err := r.Scheduler.Add(invoices); err != nil {
				t.Fatal(err)
			}
			r.Run()
		}
		time.Sleep(time.Hour)
		nodes.Stop(0) // one of the three nodes dies
		time.Sleep(2 * time.Hour)
		if n := sent.Load(); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}
