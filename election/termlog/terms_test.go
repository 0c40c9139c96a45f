package termlog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

const termsKey = "{redlock}:terms:x"

// knows returns the terms that the candidate gets from the nodes.
func (p *candidate) knows() []termlog.Record {
	p.c.T.Helper()
	terms, err := termlog.Read(p.c.T.Context(), p.locker, "x")
	if err != nil {
		p.c.T.Fatal(err)
	}
	return terms
}

// recorded adds records to a node's set, each with the next number as its score.
func (c *cluster) recorded(node int, records ...string) {
	c.T.Helper()
	for i, text := range records {
		member := redis.Z{Score: float64(i + 1), Member: text}
		if err := c.Raw()[node].ZAdd(c.T.Context(), termsKey, member).Err(); err != nil {
			c.T.Fatal(err)
		}
	}
}

// During each term, another node does not answer. The nodes' clocks are an hour ahead of the replicas'.
func TestTerms_OfAnyQuorumAreAllOfThemNewestFirstByTheNodesClock(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		const ahead = time.Hour
		for i := range c.N {
			c.Offset(i, ahead)
		}
		observer := c.candidate("observer") // never campaigns
		if got := observer.knows(); len(got) != 0 {
			t.Errorf("before the first term: %+v", got)
		}
		var expected []termlog.Record
		for i, id := range []string{"a", "pod b: %", "c"} {
			p := c.candidate(id)
			p.links.Cut(i)
			term := p.run().leads()
			expected = append(expected, termlog.Record{Token: term.Token(), Replica: id, Since: term.Since().Add(ahead)})
			time.Sleep(time.Second)
			p.stop()
			<-p.ended
		}
		slices.Reverse(expected)
		for away := range 3 {
			observer.links.Cut(away)
			got := observer.knows()
			if !slices.EqualFunc(got, expected, func(a, b termlog.Record) bool {
				return a.Token == b.Token && a.Replica == b.Replica && off(a.Since, b.Since) <= 10*time.Millisecond
			}) {
				t.Errorf("without node %d: %+v, want %+v", away, got, expected)
			}
			observer.links.Heal()
			time.Sleep(5 * time.Second)
		}
	})
}

func TestTerms_TheNewestHundredAreKept(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var past []string
		for token := range 105 {
			past = append(past, fmt.Sprint(token+1, " ", time.Now().UnixMicro(), " past"))
		}
		for node := range c.N {
			c.recorded(node, past...)
		}
		p := c.candidate("a").run()
		token := p.leads().Token()
		time.Sleep(time.Second)
		got := p.knows()
		if len(got) != 100 || got[0].Token != token || got[1].Token != 105 || got[99].Token != 7 {
			t.Errorf("%d terms: %+v, want term %d and the terms 105 to 7", len(got), got, token)
		}
		for i, node := range c.Raw() {
			if n := node.ZCard(t.Context(), termsKey).Val(); n != 100 {
				t.Errorf("node %d keeps %d", i, n)
			}
			if left := c.Node(i).TTL(termsKey); left < 399*24*time.Hour {
				t.Errorf("node %d keeps them for %v", i, left)
			}
		}
	})
}

func TestTerms_AreRecordedAlthoughTheFirstAttemptsFail(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		p := c.candidate("a")
		p.links.Delay(50 * time.Millisecond)
		began := p.run().leads().Since()
		p.links.Cut() // so none of its requests as a leader has arrived
		time.Sleep(ttl / 4)
		if n := c.Raw()[0].ZCard(t.Context(), termsKey).Val(); n != 0 {
			t.Fatal("the first attempt did not fail")
		}
		p.links.Heal()
		time.Sleep(2 * ttl)
		terms := p.knows()
		if len(terms) != 1 || terms[0].Replica != "a" || off(terms[0].Since, began) > 100*time.Millisecond {
			t.Fatalf("got %+v, want one that began at %v", terms, began)
		}
	})
}

// Neither the log nor the Locker's events mention it, and no node is reported as failing, however often somebody reads.
func TestTerms_MissingRightsHarmNothingElse(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		for i := range c.N {
			c.Deny(i, "ZADD", "ZREMRANGEBYRANK", "ZREVRANGE", "PEXPIRE")
		}
		quiet := func() (*redlock.Locker, *nodetest.Links) {
			locker, links := c.Locker()
			locker.OnNode(func(e redlock.NodeEvent) {
				if e.Err != nil {
					t.Errorf("%+v", e)
				}
			})
			return locker, links
		}
		core, logs := observer.New(zap.DebugLevel)
		locker, links := quiet()
		p := c.candidateOf(locker, links, "a", election.WithLogger(zap.New(core))).run()
		term := p.leads()
		locker, links = quiet()
		reading := c.candidateOf(locker, links, "b", election.WithLogger(zap.New(core))).run()
		const long, pause = 10 * time.Minute, 5 * time.Second
		before := c.Requests(0)
		for range int(long / pause) {
			time.Sleep(pause)
			_, err := termlog.Read(t.Context(), reading.locker, "x")
			want.Err(t, err, redlock.ErrNoQuorum)
			want.Text(t, err, "0 of 3 nodes", "NOPERM")
		}
		if current, ok := p.Term(); !ok || current != term {
			t.Error("the term has ended")
		}
		// These nodes do not cache a script that fails, so each read and each attempt to record makes two requests.
		asked := c.Requests(0) - before - int(long/every) - 2*int(long/pause)
		if asked > 10*int(long/time.Minute) {
			t.Errorf("%d requests in %v beside renewals and reads", asked, long)
		}
		var lines []string
		for _, line := range logs.All() {
			lines = append(lines, line.Message)
		}
		if slices.Sort(lines); !slices.Equal(lines, []string{"following", "this replica leads"}) {
			t.Errorf("logged %q", lines)
		}
	})
}

// Data of a hostile or foreign writer on one node of three invalidates only that node's answer. If too few answers are left, or too
// few nodes answer in time, there is an error.
func TestTerms_GarbageIsTheErrorOfItsNode(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		garbage := strings.Repeat("7 ", 1<<19)
		p := c.candidate("a").run()
		p.leads()
		time.Sleep(time.Second)
		c.recorded(0, garbage)
		if terms := p.knows(); len(terms) != 1 || terms[0].Replica != "a" {
			t.Errorf("got %+v", terms)
		}
		c.recorded(1, garbage)
		_, err := termlog.Read(t.Context(), p.locker, "x")
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, `termlog: terms of "x"`, "1 of 3 nodes, 2 needed", c.Addrs()[0]+": not a record of a term", c.Addrs()[1])
		if len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		p.links.Hang(0, 2)
		took := bubble.Took(func() { _, err = termlog.Read(t.Context(), p.locker, "x") })
		want.Err(t, err, redlock.ErrNoQuorum)
		if took > nodeTimeout {
			t.Errorf("it took %v, the node timeout is %v", took, nodeTimeout)
		}
	})
}

// One node returns a term of the future. Another one is on all nodes: it was recorded before their clocks were set back.
func TestTerms_NoneOfTheFarFuture(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("observer")
		observer.knows() // the nodes' clocks
		now := time.Now().UnixMicro()
		for node := range 3 {
			c.recorded(node, fmt.Sprint(now-1000, " ", now-1000, " a"), fmt.Sprint(now+1e14, " ", now+1e14, " b"))
		}
		c.recorded(0, fmt.Sprint(now, " ", now+1e15, " liar"))
		if known := observer.knows(); len(known) != 2 || known[0].Replica != "b" || known[1].Replica != "a" {
			t.Errorf("it has %+v", known)
		}
	})
}

// The leader is asked to stop while the record waits for a hung node, or for its next attempt.
func TestTerms_HoldUpNoHandover(t *testing.T) {
	for name, fault := range map[string]func(c *cluster, p *candidate) (led time.Duration){
		"while it waits for a node": func(c *cluster, p *candidate) time.Duration {
			c.Deny(0, "ZADD")
			p.links.Hang(1)
			return nodeTimeout / 2 // during the first attempt
		},
		"while it waits for its next attempt": func(c *cluster, _ *candidate) time.Duration {
			c.Deny(0, "ZADD")
			c.Deny(1, "ZADD")
			return 5 * time.Minute // so that the pauses are long
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.candidate("a")
				led := fault(c, a)
				a.run().leads()
				b := c.candidate("b").run()
				time.Sleep(led)
				stopped := time.Now()
				a.stop()
				<-a.ended
				if took := time.Since(stopped); took > 10*time.Millisecond {
					t.Errorf("Run returned after %v", took)
				}
				b.leads()
				if took := time.Since(stopped); took > 20*time.Millisecond {
					t.Errorf("the next one led after %v", took)
				}
			})
		})
	}
}
