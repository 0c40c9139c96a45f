package jobstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// Nodes that join another list of nodes are not vouched for until a leader has heard all of them, and has written the jobs there.
func TestKept_AllNodesOfANewListAreHeardOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.stored()
		for i := range c.N {
			c.Node(i).HSet("{redlock}", "o", "\nj:other\t0000000000000\nj:x\t0000000000001\n") // as one that has joined another list
		}
		b := c.writer("b")
		const says = "all nodes are needed once"
		b.links.Cut(2)
		_, err := b.prepare(job)
		want.Err(t, err, jobstore.ErrNoQuorum)
		want.Text(t, err, says)
		b.links.Heal()
		wantKnown(t, c.known(b.mustPrepare(job)), "stale 10s", "stale 10s", "stale 10s")

		b.links.Cut(2)
		_, err = b.Poll(t.Context(), b.ballot, jobstore.Writing, true, nil, nil)
		want.Err(t, err, jobstore.ErrNoQuorum)
		want.Text(t, err, says)
		b.links.Heal()
		_, err = b.Poll(t.Context(), b.ballot, jobstore.Writing, true, nil, nil)
		want.NoError(t, err)
		b.links.Cut(2) // nothing is written yet
		_, err = b.prepare(job)
		want.Text(t, err, says)
		b.links.Heal()
		b.mustPrepare(job)
		b.mustWrite(20 * time.Second)
		_, err = b.Poll(t.Context(), b.ballot, jobstore.Settled, false, nil, nil)
		want.NoError(t, err)

		b.links.Cut(2)
		wantKnown(t, c.known(b.mustPrepare(job)), "present 20s", "present 20s", "error")
	})
}

// A node that is in no list of nodes does not say that there is no such job.
func TestAsk_ANodeInNoListKnowsNothing(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.stored()
		c.Wipe(1)
		c.Wipe(2)
		q := quorum.New(c.Links().Clients(), c.Addrs(), quorum.Config{Timeout: timeout, Now: time.Now})
		defer func() { want.NoError(t, q.Close(context.Background())) }()
		s := jobstore.New(jobstore.Config{
			Quorum: q, Prefix: "redlock", Election: "x", List: func(context.Context) string { return list },
		})
		_, err := s.Ask(t.Context(), job, jobstore.Request{Verb: jobstore.ToPause, Setting: jobstore.Setting{On: true}}, nil)
		want.Err(t, err, jobstore.ErrNoQuorum)
		want.Text(t, err, "it is in no list")
		if errors.Is(err, jobstore.ErrUnknown) {
			t.Errorf("got %v", err)
		}
	})
}
