package election_test

import (
	"context"
	"sync"
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

func TestObserve_TellsOfEachChange(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("observer")
		ctx, cancel := context.WithCancel(t.Context())
		leaders := observer.Observe(ctx)
		if l := next(t, leaders, time.Second); l != (election.Leader{}) {
			t.Errorf("got %+v, want nobody", l)
		}
		a := c.replica("a", 0, election.WithIdentity("pod a", "10.0.0.1:80"))
		term := a.leads()
		l := next(t, leaders, ttl/20)
		if l.ID != "pod a" || l.Value != "10.0.0.1:80" || l.Token != term.Token() || time.Until(l.Expires) < ttl/2 {
			t.Errorf("got %+v in term %d", l, term.Token())
		}
		time.Sleep(3 * ttl)
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
		a.stop()
		<-a.ended
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

func TestObserve_LatestWins(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		leaders := c.candidate("observer").Observe(t.Context())
		a, b := c.replica("a", 0), c.replica("b", 0, election.WithStandby(time.Second))
		a.leads()
		time.Sleep(ttl)
		a.resigned(nil)
		b.leads()
		time.Sleep(ttl)
		b.resigned(nil)
		term := a.leads()
		time.Sleep(ttl)
		if l := next(t, leaders, time.Second); l.ID != "a" || l.Token != term.Token() {
			t.Errorf("got %+v first, want the latest", l)
		}
	})
}

// An observer writes nothing, and costs little.
func TestObserve_CostsLittleAndWritesNothing(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("observer")
		leaders := observer.Observe(t.Context())
		next(t, leaders, time.Second)
		time.Sleep(time.Second)
		if records.Default.HasNumber(t, lockX, c.Raw()[0]) {
			t.Error("a record was written")
		}
		a := c.replica("a", 0)
		a.leads()
		time.Sleep(ttl)
		before := c.Requests(0)
		const long = 10 * ttl
		time.Sleep(long)
		asked := c.Requests(0) - before - int(long/every) // without the leader's own
		if asked < 5 || asked > 30 {
			t.Errorf("asked %d times in %v", asked, long)
		}
	})
}

func TestObserve_ThroughAnOutage(t *testing.T) {
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
	})
}

func TestHooks_Observed(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var mu sync.Mutex
		var seen []string
		a := c.replica("a", 0, election.WithHooks(election.Hooks{Observed: func(l election.Leader) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, l.ID)
		}}))
		a.leads()
		time.Sleep(ttl)
		b := c.replica("b", 0)
		time.Sleep(time.Second)
		a.resigned(nil)
		b.leads()
		time.Sleep(ttl)
		a.stop()
		<-a.ended
		mu.Lock()
		defer mu.Unlock()
		if n := len(seen); n < 2 || seen[n-1] != "b" {
			t.Errorf("observed %q", seen)
		}
	})
}
