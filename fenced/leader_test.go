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
		start := time.Now()
		redlocktest.New(t, 3).Replica(
			election.WithHooks(election.Hooks{Ended: func(_ *election.Term, cause error) { causes <- cause }}),
			election.OnLeader(fenced.OnLeader(db, func(context.Context) { t.Error("it leads") }, "ledger")),
		).Run()
		if cause := <-causes; !errors.Is(cause, election.ErrResigned) || !errors.Is(cause, errAway) {
			t.Error(cause)
		}
		if took := time.Since(start); server.tried < 3 || took > time.Minute {
			t.Errorf("it resigned after %d attempts in %v", server.tried, took)
		}
	})
}
