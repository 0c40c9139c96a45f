package fenced_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestOnLeader_ResignsWhileTheDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, causes := &away{}, make(chan error, 10)
		db := open(t, server)
		elector, err := election.New(redlocktest.New(t, 3).Process().Locker(), "ledger",
			election.WithHooks(election.Hooks{Ended: func(_ *election.Term, cause error) { causes <- cause }}),
			election.OnLeader(fenced.OnLeader(db, func(context.Context) { t.Error("it leads") }, "ledger")))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		start := time.Now()
		go func() { over <- elector.Run(ctx) }() // ends by stop, received below
		cause := <-causes
		if !errors.Is(cause, election.ErrResigned) || !errors.Is(cause, errAway) {
			t.Error(cause)
		}
		if took := time.Since(start); server.tried < 3 || took > time.Minute {
			t.Errorf("it resigned after %d attempts in %v", server.tried, took)
		}
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}
