package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
)

// next receives a value within d.
func next(t *testing.T, leaders <-chan election.Leader, d time.Duration) election.Leader {
	t.Helper()
	select {
	case l, open := <-leaders:
		if !open {
			t.Fatal("the channel is closed")
		}
		return l
	case <-time.After(d):
		t.Fatalf("no value within %v", d)
		return election.Leader{}
	}
}

// An observer hears of each change of the leader, writes nothing, and costs little.
func TestObserve_TellsOfEachChange(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("observer")
		ctx, cancel := context.WithCancel(t.Context())
		leaders := observer.Observe(ctx)
		if l := next(t, leaders, time.Second); l != (election.Leader{}) {
			t.Errorf("got %+v, want nobody", l)
		}
		if records.Default.HasNumber(t, lockX, c.Raw()[0]) {
			t.Error("a record was written")
		}
		seen := make(chan string, 100) // by the first leader
		a := c.replica("a", 0, election.WithIdentity("pod a", "10.0.0.1:80"),
			election.WithHooks(election.Hooks{Observed: func(l election.Leader) { seen <- l.ID }}))
		term := a.leads()
		l := next(t, leaders, ttl/20)
		if l.ID != "pod a" || l.Value != "10.0.0.1:80" || l.Token != term.Token() || time.Until(l.Expires) < ttl/2 {
			t.Errorf("got %+v in term %d", l, term.Token())
		}
		time.Sleep(ttl)
		const long = 10 * ttl
		before := c.Requests(0)
		time.Sleep(long)
		if asked := c.Requests(0) - before - int(long/every); asked < 5 || asked > 30 { // without the leader's own
			t.Errorf("asked %d times in %v", asked, long)
		}
		if len(leaders) > 0 {
			t.Errorf("got %+v, although the leader is the same", <-leaders)
		}

		b := c.replica("b", 0)
		time.Sleep(time.Second)
		a.resigned(nil)
		b.leads()
		for l.ID != "b" {
			if l = next(t, leaders, 100*time.Millisecond); l.ID != "b" && l.ID != "" {
				t.Fatalf("got %+v", l)
			}
		}
		time.Sleep(time.Second)
		a.stop()
		<-a.ended
		for last := ""; last != "b"; {
			select {
			case last = <-seen:
			default:
				t.Fatalf("the hook of the first leader was called for %q last", last)
			}
		}
		b.links.Cut() // a crash
		if l := next(t, leaders, ttl+50*time.Millisecond); l != (election.Leader{}) {
			t.Errorf("got %+v, want nobody", l)
		}
		cancel()
		synctest.Wait()
		if _, open := <-leaders; open {
			t.Error("the channel is open")
		}
	})
}

// An observer that was away, or does not read, gets the latest leader.
func TestObserve_LatestWins(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("observer")
		leaders := observer.Observe(t.Context())
		next(t, leaders, time.Second)
		a := c.replica("a", 0)
		a.leads()
		next(t, leaders, time.Second)
		observer.links.Cut()
		time.Sleep(10 * ttl)
		if len(leaders) > 0 {
			t.Errorf("got %+v, although it could not know", <-leaders)
		}
		b := c.replica("b", 0)
		time.Sleep(time.Second)
		a.resigned(nil)
		b.leads()
		observer.links.Heal()
		if l := next(t, leaders, 2*time.Second); l.ID != "b" {
			t.Errorf("got %+v, want the present leader", l)
		}
		time.Sleep(ttl) // a campaigns again
		b.resigned(nil)
		a.leads()
		time.Sleep(ttl)
		a.resigned(nil)
		term := b.leads()
		time.Sleep(ttl)
		if l := next(t, leaders, time.Second); l.ID != "b" || l.Token != term.Token() {
			t.Errorf("got %+v first, want the latest", l)
		}
	})
}
