//go:build unix

package integration_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

// rest is how long nodes are left alone after they grant again. A node that lost its jobs refuses their ticks for 2 s.
const rest = 3 * time.Second

// outages kills minorities of nodes, one after another. Each time, the nodes come back guarded, in one of the ways in
// which a server may lose locks.
type outages struct {
	away atomic.Bool // a node is down, or does not grant yet
	made []string    // read it only when play has returned
}

// play continues until ctx is done.
func (o *outages) play(ctx context.Context, t *testing.T, nodes *redisproc.Cluster, random *rand.Rand) {
	back := []string{"restarted empty", "restarted with an older file", "restarted with its file"}
	l := lockerOn(t, clients(t, nodes.Addrs()...),
		redlock.WithTTL(shortTTL), redlock.WithNodeTimeout(shortTTL/10))
	granting := func() bool { return ctx.Err() != nil || allGrant(t.Context(), l) }
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	poll(t, "end of the guards", granting)
	for {
		o.away.Store(false)
		hit := random.Perm(nodeCount)[:1+random.IntN(nodeCount-majority)]
		way, lasts := back[random.IntN(len(back))], upTo(shortTTL)
		if retry.Sleep(ctx, rest+upTo(shortTTL)) != nil {
			return
		}

		o.away.Store(true)
		o.made = append(o.made, fmt.Sprintf("at %v for %v: nodes %v: %s", shared.now(), lasts, hit, way))
		for _, i := range hit {
			must(t, nodes.Node(i).Backup(), nodes.Node(i).Kill())
		}
		_ = retry.Sleep(ctx, lasts) // they come back in any case
		for _, i := range hit {
			must(t, forgetting[way](t.Context(), nodes.Node(i)))
		}
		poll(t, "end of the guards: "+o.made[len(o.made)-1], granting)
	}
}
