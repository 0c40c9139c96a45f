package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

func TestState_FollowsTheLifeOfACandidate(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		work := make(chan struct{})
		a := c.candidate("a", election.OnLeader(func(ctx context.Context) {
			<-ctx.Done()
			<-work
		}))
		want := func(want election.State) {
			t.Helper()
			synctest.Wait()
			if got := a.State(); got != want {
				t.Errorf("it is %s, want %s", got, want)
			}
		}
		want(election.StateStopped)
		b := c.replica("b", 0)
		b.leads()
		a.run()
		time.Sleep(time.Second)
		want(election.StateFollowing)
		b.stop()
		a.leads()
		want(election.StateLeading)
		a.links.Cut()
		time.Sleep(validFor - margin + time.Millisecond)
		want(election.StateDraining) // past the stop deadline, whatever its work does
		work <- struct{}{}
		time.Sleep(margin + nodeTimeout) // for the release, which no node answers
		want(election.StateFollowing)
		a.links.Heal()
		a.leads()
		a.stop()
		want(election.StateDraining)
		close(work)
		<-a.ended
		want(election.StateStopped)
	})
}
