package election_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/doing"
)

// ofCampaign removes the lines about single nodes.
func ofCampaign(lines []observer.LoggedEntry) []observer.LoggedEntry {
	return slices.DeleteFunc(lines, func(line observer.LoggedEntry) bool { return line.ContextMap()["node"] != nil })
}

func TestLog_SaysOnceThatRestartedNodesGrantNothingYet(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		c.Restart(0)
		c.Restart(1)
		a := c.replica("a", 0, election.WithLogger(zap.New(core)))
		term := a.leads()
		if waited := term.Since().Sub(c.Start); waited < ttl || waited > ttl+nodeTimeout {
			t.Errorf("led after %v, want max ttl", waited)
		}
		got := logs.TakeAll()
		if len(got) != 2 || got[0].Level != zap.InfoLevel || got[1].Message != "this replica leads" ||
			!strings.Contains(got[0].ContextMap()["error"].(string), "it grants nothing for another") {
			t.Errorf("logged %v", got)
		}
	})
}

// A callback that goes on after the work that it names does no harm: it only writes records. That is no reason to call a person.
func TestLog_RecordsThatAreStillWrittenAreNoWork(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		a := c.candidate("a", election.WithLogger(zap.New(core)), election.OnLeader(func(ctx context.Context) {
			doing.Naming(ctx)
			<-ctx.Done()
			time.Sleep(2 * ttl)
		})).run()
		a.leads()
		a.links.Cut()
		time.Sleep(2 * ttl)
		if got := logs.FilterMessage("lost leadership, campaigning again").Len(); got != 1 {
			t.Errorf("%d lines that the leadership is lost", got)
		}
		if got := logs.FilterLevelExact(zap.ErrorLevel).All(); len(got) > 0 {
			t.Errorf("logged %v", got)
		}
		time.Sleep(2 * ttl)
	})
}

// A problem that ends by itself is no refusal, such as a node that loads its data.
func TestLog_OnlyRefusalsAreErrors(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		for i := range 2 {
			c.SetPreHook(i, func(p *server.Peer, _ string, _ ...string) bool {
				p.WriteError("LOADING Redis is loading the dataset in memory")
				return true
			})
		}
		c.replica("a", 0, election.WithLogger(zap.New(core)))
		time.Sleep(2 * ttl)
		got := ofCampaign(logs.All())
		if len(got) != 1 || got[0].Level != zap.WarnLevel || got[0].Message != "cannot campaign: too few nodes answer, retrying" {
			t.Errorf("logged %v", got)
		}
	})
}

// The log also reports nodes that did not answer before Run, and does not take one refusing node for all.
func TestLog_NodesThatWereAwayBeforeRun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		c.Kill(2)
		a := c.candidate("a", election.WithLogger(zap.New(core)))
		for range 5 {
			if lease, err := a.locker.TryAcquire(t.Context(), "y"); err == nil {
				_ = lease.Release(t.Context())
			}
			time.Sleep(time.Second)
		}
		a.run().leads()
		time.Sleep(time.Second)
		c.Restart(2)
		time.Sleep(2 * ttl)
		fails, works := logs.FilterMessage("a node fails").Len(), logs.FilterMessage("a node works again").Len()
		if fails != 1 || works != 1 {
			t.Errorf("%d lines that a node fails, %d that it works again", fails, works)
		}
	})
}

// A right that is missing is an error line, although other requests work: on one node as on three.
func TestLog_NamesARightThatIsMissing(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint("of ", n), func(t *testing.T) {
			inBubble(t, n, func(t *testing.T, c *cluster) {
				core, logs := observer.New(zap.InfoLevel)
				a := c.replica("a", 0, election.WithLogger(zap.New(core)))
				a.leads()
				for i := range n {
					c.Deny(i, "HGET") // which an inspection needs, and an extension does not
				}
				for range 3 {
					a.locker.Nodes(t.Context())
					time.Sleep(time.Second)
				}
				got := logs.FilterMessageSnippet("node").All()
				if len(got) != n || logs.FilterMessage("a node denies the user a right, retrying").Len() != n {
					t.Fatalf("logged %v", got)
				}
				if text := got[0].ContextMap()["error"].(string); got[0].Level != zap.ErrorLevel || !strings.Contains(text, "lacks the right +hget") {
					t.Errorf("logged %v", got[0])
				}
				if !a.IsLeader() {
					t.Error("it has stopped leading")
				}
			})
		})
	}
}

// A node that does not permit subscriptions works, which is logged once, and fails like any other.
func TestLog_ANodeWithoutSubscriptionsWorks(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		for i := range c.N {
			c.Deny(i, "SUBSCRIBE")
		}
		a, b := c.replica("a", 0), c.replica("b", 0, election.WithStandby(time.Second), election.WithLogger(zap.New(core)))
		a.leads()
		time.Sleep(5 * ttl)
		got := logs.FilterMessageSnippet("node").All()
		if len(got) != 3 || logs.FilterMessage("a node answers, but needs attention").Len() != 3 {
			t.Errorf("logged %v", got)
		}
		b.links.Hang(2)
		time.Sleep(5 * ttl)
		if fails := logs.FilterMessage("a node fails").Len(); fails != 1 {
			t.Errorf("%d lines that a node fails", fails)
		}
	})
}

// While a few nodes refuse and others do not answer, the log reports the latter. When all refuse, it has another line, and one
// more when none answers any longer.
func TestLog_OneLineForEachChangeOfCause(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		core, logs := observer.New(zap.InfoLevel)
		a := c.candidate("a", election.WithLogger(zap.New(core)))
		c.Node(0).RequireAuth("secret")
		a.links.Hang(1)
		a.run()
		time.Sleep(3 * ttl)
		c.Node(1).RequireAuth("secret")
		a.links.Heal()
		time.Sleep(3 * ttl)
		a.links.Cut()
		time.Sleep(3 * ttl)
		if err := a.Check(); err != nil {
			t.Errorf("Check fails because Redis does not answer: %v", err)
		}
		for i := range 2 {
			c.Node(i).RequireAuth("")
		}
		a.links.Heal()
		term := a.leads()
		a.stop()
		<-a.ended
		const away = "cannot campaign: too few nodes answer, retrying"
		want := []string{
			away, "the nodes refuse this replica, retrying", away, "this replica leads", "handed leadership over",
		}
		got := ofCampaign(logs.All())
		if !slices.EqualFunc(got, want, func(line observer.LoggedEntry, want string) bool { return line.Message == want }) {
			t.Fatalf("logged %v", got)
		}
		if got[1].Level != zap.ErrorLevel {
			t.Errorf("a refusal is logged as %v", got[1].Level)
		}
		if fields := got[4].ContextMap(); fields["election"] != "x" || fields["candidate"] != "a" || fields["term"] != term.Token() {
			t.Errorf("fields %v", fields)
		}
	})
}
