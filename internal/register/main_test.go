package register_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/register"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/race"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

// contested is for long looks.
var contested = flag.Int("contested", race.Scale(10, 300), "ticks that are asked for by several")

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	longest = 10 * time.Second
	list    = "000000010000 003" // the longest lease, in milliseconds, and the nodes
	timeout = 200 * time.Millisecond
	job     = "report"
)

// cluster is the nodes of a bubble.
type cluster struct{ *bubble.Cluster }

// inBubble runs test in a bubble with n nodes that have just been started.
func inBubble(t *testing.T, n int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	bubble.RunFresh(t, n, func(t *testing.T, nodes *bubble.Cluster) { test(t, &cluster{nodes}) })
}

// leader is one process that believes it leads, with its own way to the nodes.
type leader struct {
	*register.Register
	c        *cluster
	links    *nodetest.Links
	token    uint64
	memories map[int]string
}

func (c *cluster) leader(token uint64) *leader {
	links := c.Links()
	q := quorum.New(links.Clients(), c.Addrs(), quorum.Config{Timeout: timeout, Now: time.Now})
	c.T.Cleanup(func() {
		c.Heal() // Close waits for calls to nodes, which may hang
		if err := q.Close(context.Background()); err != nil {
			c.T.Error(err)
		}
	})
	return &leader{
		Register: register.New(register.Config{Quorum: q, Prefix: "redlock", Election: "x", List: list}),
		c:        c, links: links, token: token,
	}
}

// promise has the nodes promise the leader's token.
func (l *leader) promise() (register.State, error) {
	p := l.Promise(context.Background(), l.token, time.Now(), []register.Plan{{Job: job, Text: "UTC @every 1s"}})[0]
	l.memories = p.Memories
	return p.State, p.Err
}

func (l *leader) mustPromise() register.State {
	l.c.T.Helper()
	s, err := l.promise()
	if err != nil {
		l.c.T.Fatal(err)
	}
	return s
}

// claim asks for a tick.
func (l *leader) claim(tick time.Time, run string, attempt int) register.Outcome {
	claims := []register.Claim{{Job: job, Record: l.record(tick, run, attempt)}}
	return l.Claim(context.Background(), l.token, l.memories, claims)[0]
}

func (l *leader) record(tick time.Time, run string, attempt int) register.Record {
	return register.Record{
		Slot: register.Slot{At: tick}, Run: run, Attempt: attempt, Token: l.token, State: register.Claimed,
		Details: register.Details{By: fmt.Sprint("pod-", l.token), Start: tick},
	}
}

// finish writes the end of a run.
func (l *leader) finish(record register.Record, own bool) error {
	return l.Finish(context.Background(), []register.End{{Job: job, Record: record, Own: own}})[0]
}

func (l *leader) wins(tick time.Time, run string) {
	l.c.T.Helper()
	if o := l.claim(tick, run, 1); !o.Won {
		l.c.T.Fatalf("tick %v was not won: %+v", l.c.At(tick), o)
	}
}

// tick is a whole second after the start of the test.
func (c *cluster) tick(after time.Duration) time.Time {
	return c.Start.Add(after).Truncate(time.Second)
}
