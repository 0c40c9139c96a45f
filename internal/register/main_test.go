package register_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/register"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// contested is for long looks.
var contested = flag.Int("contested", usualTicks, "ticks that are asked for by several")

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports each failed dial on its own
	goleak.VerifyTestMain(m)
}

const (
	longest = 10 * time.Second
	timeout = 200 * time.Millisecond
	job     = "report"
)

// cluster is n nodes in a bubble of virtual time.
type cluster struct {
	*nodetest.Cluster
	t     *testing.T
	n     int
	start time.Time
	all   []*quorum.Quorum
}

// Close ends the processes and then the nodes.
func (c *cluster) Close() {
	c.Heal()
	for _, q := range c.all {
		if err := q.Close(context.Background()); err != nil {
			c.t.Error(err)
		}
	}
	c.Cluster.Close()
}

func bubble(t *testing.T, n int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{Cluster: nodetest.Start(n), t: t, n: n, start: time.Now()}
		defer c.Close()
		test(t, c)
	})
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
	c.all = append(c.all, q)
	return &leader{
		Register: register.New(register.Config{Quorum: q, Prefix: "redlock", Election: "x", Longest: longest}),
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
	l.c.t.Helper()
	s, err := l.promise()
	if err != nil {
		l.c.t.Fatal(err)
	}
	return s
}

// claim asks for a tick.
func (l *leader) claim(tick time.Time, run string, attempt int) register.Outcome {
	return l.Claim(context.Background(), l.token, l.memories, []register.Claim{{Job: job, Record: l.record(tick, run, attempt)}})[0]
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
	l.c.t.Helper()
	if o := l.claim(tick, run, 1); !o.Won {
		l.c.t.Fatalf("tick %v was not won: %+v", tick.Sub(l.c.start), o)
	}
}

// tick is a whole second after the start of the test.
func (c *cluster) tick(after time.Duration) time.Time {
	return c.start.Add(after).Truncate(time.Second)
}
