package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestLife_SecondRunIsErrRunning(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		want.Err(t, a.Run(t.Context()), election.ErrRunning)
	})
}

func TestLife_RunWithADoneContextDoesNothing(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.candidate("a", election.OnLeader(func(context.Context) { t.Error("called") }))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
		if names := records.Default.Names(t, c.Raw()[0]); names != 0 {
			t.Errorf("left records of %d names", names)
		}
	})
}

// When a process wakes, Check may be called before any timer has run, and before the work has had time to return.
func TestCheck_GivesTheWorkOfALeaderThatWakesTheStopMargin(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		hung := make(chan struct{})
		p, machine := c.sleeper("a", election.OnLeader(func(context.Context) { <-hung }))
		p.run()
		follower := c.replica("b", 0, election.WithStandby(time.Second))
		term := p.leads()
		for range 10 {
			time.Sleep(every)
			want.NoError(t, errors.Join(p.Check(), follower.Check()))
		}
		machine.Suspend(2 * ttl)
		for range 10 {
			if err := p.Check(); err != nil || term.Valid() {
				t.Fatalf("right after a pause: %v; the term is valid: %v", err, term.Valid())
			}
			time.Sleep(margin / 20)
		}
		time.Sleep(margin)
		want.Err(t, p.Check(), election.ErrUndrained)
		close(hung)
		synctest.Wait()
		if err := p.Check(); err != nil {
			t.Errorf("after the work has returned: %v", err)
		}
	})
}

// A process whose Locker is closed can never lead again, and Run says so.
func TestRun_EndsWithItsLocker(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		if err := a.locker.Close(t.Context()); err == nil {
			t.Error("the error does not name the abandoned lease")
		}
		bubble.Await(t, "the end of Run", ttl, func() bool { return a.State() == election.StateStopped })
		<-a.ended
		want.Err(t, a.err, redlock.ErrClosed)
		want.Err(t, a.Check(), redlock.ErrClosed)
	})
}
