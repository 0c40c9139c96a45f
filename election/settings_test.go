package election_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

func TestSettings_AreThoseInForce(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		e, err := election.New(c.candidate("a").locker, "x", election.WithIdentity("pod", ""),
			election.WithRenewal(3*time.Second), election.WithStandby(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		got, want := e.Settings(), election.Settings{
			Identity: "pod", TTL: 10 * time.Second, RenewEvery: 3 * time.Second, StopMargin: 2 * time.Second,
			DrainTimeout: 10 * time.Second, Cooldown: 5 * time.Second, Standby: time.Second,
		}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
