package jobstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	longest = 10 * time.Second
	label   = "0123456789abcdef"      // of the list of nodes
	list    = "000000010000 " + label // with the longest lease, in milliseconds
	timeout = 200 * time.Millisecond
	job     = "report"
)

// cluster has the nodes of a bubble.
type cluster struct{ *bubble.Cluster }

// inBubble runs test in a bubble with n nodes that were started a minute ago.
func inBubble(t *testing.T, n int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	bubble.RunFresh(t, n, func(t *testing.T, nodes *bubble.Cluster) {
		c := &cluster{nodes}
		_, _ = c.writer("first").prepare() // starts the guards
		time.Sleep(time.Minute)
		test(t, c)
	})
}

// writer is a process that believes it leads, with its own links to the nodes.
type writer struct {
	*jobstore.Store
	c      *cluster
	name   string
	links  *nodetest.Links
	ballot jobstore.Ballot
	seq    int
	stored map[string]jobstore.At
}

func (c *cluster) writer(name string) *writer { return c.writerOf("x", name) }

// writerOf returns a writer of another election, whose jobs are separate.
func (c *cluster) writerOf(election, name string) *writer {
	links := c.Links()
	q := quorum.New(links.Clients(), c.Addrs(), quorum.Config{Timeout: timeout, Now: time.Now})
	c.T.Cleanup(func() {
		c.Heal() // Close waits for calls to nodes, which may hang
		if err := q.Close(context.Background()); err != nil {
			c.T.Error(err)
		}
	})
	return &writer{
		Store: jobstore.New(jobstore.Config{Quorum: q, Prefix: "redlock", Election: election, List: c.list}),
		c:     c, name: name, links: links, stored: make(map[string]jobstore.At),
	}
}

// list returns the list of all nodes. Those that have lost their data join it again, as an election has them do; their guards begin with
// the next call.
func (c *cluster) list(context.Context) string {
	for i := range c.N {
		if node := c.Node(i); node.HGet("{redlock}", "g") == "" {
			node.HSet("{redlock}", "g", "3 "+strings.Repeat("-", 40)+" 0000000000000000 0000000000000000 000000010000 "+label+" 0000000000000")
		}
	}
	return list
}

// stored returns a writer that has written a state of one job, which all nodes have stored.
func (c *cluster) stored() *writer {
	w := c.writer("a")
	w.mustPrepare(job)
	w.mustWrite(10 * time.Second)
	time.Sleep(timeout)
	return w
}

// prepare takes a new ballot and prepares jobs under it.
func (w *writer) prepare(jobs ...string) ([]jobstore.Promise, error) {
	time.Sleep(time.Millisecond) // so that the ballot is larger than the last one
	w.ballot, w.seq = jobstore.NewBallot(0, time.Now()), 0
	return w.Prepare(context.Background(), w.ballot, jobstore.Leader{Token: 7, Replica: w.name}, jobs)
}

func (w *writer) mustPrepare(jobs ...string) []jobstore.Promise {
	w.c.T.Helper()
	p, err := w.prepare(jobs...)
	if err != nil {
		w.c.T.Fatal(err)
	}
	return p
}

// write stores a state of one job. Its mark is the given time after the start of the test.
func (w *writer) write(mark time.Duration, opens bool) error {
	_, err := w.writeState(jobstore.State{Mark: w.c.Start.Add(mark)}, opens)
	return err
}

// writeState returns how many nodes serve only a larger ballot.
func (w *writer) writeState(s jobstore.State, opens bool) (unserved int, err error) {
	errs, unserved := w.writeAll(&jobstore.Write{Job: job, State: &s, Opens: opens})
	return unserved, errs[0]
}

// writeAll writes states that follow the last stored ones.
func (w *writer) writeAll(writes ...*jobstore.Write) (errs []error, unserved int) {
	w.seq++
	for _, one := range writes {
		one.Follows = w.stored[one.Job]
	}
	errs, all := w.Write(context.Background(), w.ballot, w.seq, writes, func(int, []int, int) {})
	for i, one := range writes {
		if errs[i] == nil {
			w.stored[one.Job] = jobstore.At{Ballot: w.ballot, Seq: w.seq}
		}
	}
	return errs, len(all)
}

func (w *writer) mustWrite(mark time.Duration) {
	w.c.T.Helper()
	if err := w.write(mark, false); err != nil {
		w.c.T.Fatal(err)
	}
}

// known returns what each node knows of the job, as "present 1m0s", with the mark.
func (c *cluster) known(promises []jobstore.Promise) []string {
	var all []string
	for _, p := range promises {
		switch {
		case p.Err != nil:
			all = append(all, "error")
		case p.Jobs[0].Kind == jobstore.None:
			all = append(all, "none")
		default:
			kind := map[jobstore.Kind]string{jobstore.Present: "present", jobstore.Stale: "stale"}[p.Jobs[0].Kind]
			all = append(all, fmt.Sprintf("%s %s", kind, p.Jobs[0].State.Mark.Sub(c.Start)))
		}
	}
	return all
}
