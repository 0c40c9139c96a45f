package election_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
)

// next receives a value within d.
func next(t *testing.T, leaders <-chan election.Leader, d time.Duration) election.Leader {
	t.Helper()
	select {
	case l := <-leaders:
		return l
	case <-time.After(d):
		t.Fatalf("no value within %v", d)
		return election.Leader{}
	}
}

// An observer hears of each change of the leader, writes nothing, and costs little.
func TestOnNewLeader_TellsOfEachChange(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("observer")
		leaders := make(chan election.Leader, 100)
		stop := observer.OnNewLeader(func(l election.Leader) { leaders <- l })
		if l := next(t, leaders, time.Second); l != (election.Leader{}) {
			t.Errorf("got %+v, want nobody", l)
		}
		if records.Default.HasNumber(t, lockX, c.Raw()[0]) {
			t.Error("a record was written")
		}
		seen := make(chan string, 100) // by the first leader
		a := c.candidate("a", election.WithIdentity("pod a", "10.0.0.1:80"))
		defer a.OnNewLeader(func(l election.Leader) { seen <- l.ID })()
		a.run()
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
				t.Fatalf("the first leader was told of %q last", last)
			}
		}
		b.links.Cut() // a crash
		if l := next(t, leaders, ttl+50*time.Millisecond); l != (election.Leader{}) {
			t.Errorf("got %+v, want nobody", l)
		}
		stop()
		b.links.Heal()
		b.leads()
		time.Sleep(ttl)
		if len(leaders) > 0 {
			t.Errorf("got %+v after stop", <-leaders)
		}
	})
}

// An observer that was away, or whose function blocks, gets the latest leader.
func TestOnNewLeader_LatestWins(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("observer")
		leaders := make(chan election.Leader)
		defer observer.OnNewLeader(func(l election.Leader) {
			select {
			case leaders <- l:
			case <-t.Context().Done():
			}
		})()
		next(t, leaders, time.Second)
		a := c.replica("a", 0)
		a.leads()
		next(t, leaders, time.Second)
		observer.links.Cut()
		time.Sleep(10 * ttl)
		select {
		case l := <-leaders:
			t.Errorf("got %+v, although it could not know", l)
		default:
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
		next(t, leaders, time.Second) // its function has blocked since then
		if l := next(t, leaders, time.Second); l.ID != "b" || l.Token != term.Token() {
			t.Errorf("got %+v, want the latest", l)
		}
	})
}
