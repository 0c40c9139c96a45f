package election_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func untilDone(ctx context.Context) { <-ctx.Done() }

// The callback is replaced by another one: there is no cooldown, which would favor others that have work.
func TestWithCallbackRequired_TheLeaderResignsWithItsLastCallback(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		var causes []error
		a := c.candidate("a", election.WithLogger(zap.New(core)), election.WithCallbackRequired(),
			election.WithCooldown(10*time.Minute),
			election.WithHooks(election.Hooks{Ended: func(_ *election.Term, cause error) { causes = append(causes, cause) }}))
		stop := a.OnLeader(untilDone)
		a.run()
		a.leads()
		stop()
		time.Sleep(time.Minute)
		if a.IsLeader() || c.held() > 0 || len(causes) != 1 {
			t.Fatalf("without a callback it leads: %v, its lock is on %d nodes, and terms ended by %v", a.IsLeader(), c.held(), causes)
		}
		want.Err(t, causes[0], election.ErrResigned)
		a.OnLeader(untilDone)
		time.Sleep(time.Second)
		if !a.IsLeader() {
			t.Error("it does not lead a second after it has a callback again")
		}
		var got []string
		for _, line := range ofCampaign(logs.All()) {
			got = append(got, line.Message)
		}
		if !slices.Equal(got, []string{
			"this replica leads", "resigned: there is nothing to lead for", "not campaigning while there is no callback",
			"this replica leads",
		}) {
			t.Errorf("logged %q", got)
		}
	})
}

func TestWithCallbackRequired_AFollowerWithoutACallbackIsNotElected(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		b := c.replica("b", 0)
		b.leads()
		elected := false
		a := c.candidate("a", election.WithCallbackRequired(),
			election.WithHooks(election.Hooks{Elected: func(*election.Term) { elected = true }}))
		stop := a.OnLeader(untilDone)
		a.run()
		time.Sleep(time.Second) // until it waits for the lock
		stop()
		b.stop()
		time.Sleep(2 * ttl)
		synctest.Wait()
		if elected || c.held() > 0 {
			t.Errorf("elected: %v, and the lock is on %d nodes", elected, c.held())
		}
	})
}

// The nodes did not answer when it campaigned. An hour later it campaigns again, and they do not answer either. Nobody knows how
// they were in between.
func TestWithCallbackRequired_WhatWasBeforeIsNotCounted(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		a := c.candidate("a", election.WithLogger(zap.New(core)), election.WithCallbackRequired())
		a.links.Cut()
		stop := a.OnLeader(untilDone)
		a.run()
		time.Sleep(time.Second)
		stop()
		time.Sleep(time.Hour)
		logs.TakeAll()
		a.OnLeader(untilDone)
		time.Sleep(ttl / 2)
		if got := ofCampaign(logs.TakeAll()); len(got) > 0 {
			t.Errorf("logged after half a TTL: %v", got)
		}
		time.Sleep(ttl)
		got := ofCampaign(logs.TakeAll())
		if len(got) != 1 || got[0].Message != "cannot campaign: too few nodes answer, retrying" ||
			got[0].ContextMap()["for"].(time.Duration) > 2*ttl {
			t.Errorf("logged after one and a half: %v", got)
		}
		a.links.Heal()
	})
}
