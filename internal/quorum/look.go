package quorum

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/bounded"
	"github.com/redlockfx/redlockfx/internal/refusal"
)

// A node is an address, and an address may lead to several servers, of which none knows what the others have granted. The
// connection that is kept does not show that. So the worker looks at the node through further connections, each dialed for
// one look: when the node is first reached, when another server answers, and then after pauses that grow.
const (
	firstLooks   = 6 // at a server that has not answered before
	lookBackoff  = 8
	maxLookPause = 5 * time.Minute
)

// lookout is when a node is looked at. It belongs to the worker.
type lookout struct {
	server uint64        // that was inspected last and is fit; 0: not known
	next   time.Time     // when the next looks are due
	pause  time.Duration // after them; 0: they are the first at this server
}

// isLookDue reports whether the node is to be looked at. Other clients choose their connections themselves.
func (w *worker) isLookDue() bool {
	return w.isOne() && w.node.config.Inspection.looked != nil && !time.Now().Before(w.lookout.next)
}

// look sends the inspection on new connections, all at once, for at most half of the timeout. It reports whether another
// server has answered than the latest one. What could not be reached says nothing.
func (w *worker) look() (another bool) {
	o, now, results := &w.lookout, time.Now(), make([]result, 1)
	if o.pause == 0 {
		results = make([]result, firstLooks)
	}
	o.pause = min(max(lookBackoff*o.pause, 2*w.timeout), maxLookPause)
	o.next = now.Add(o.pause/2 + rand.N(o.pause))
	ctx, cancel := context.WithDeadline(w.base, now.Add(w.timeout/2))
	defer cancel()
	inspection := w.node.config.Inspection
	script := inspection.command.source()
	args := inspection.command.appendTo([]any{"evalsha", script.sha}, w.node.index, nil)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = w.lookOnce(ctx, script, args) }) // ends with ctx
	}
	all.Wait()
	for _, r := range results {
		another = inspection.looked(w.node.index, r) || another
	}
	return another
}

// lookOnce sends a command on a connection that is dialed for it. A server that was not reached before may lack the script.
func (w *worker) lookOnce(ctx context.Context, script *Source, args []any) (r result) {
	var wire wire
	o := *w.options
	o.Dialer, o.ContextTimeoutEnabled, o.DisableIdentity = wire.of(w.dial), true, true
	client := redis.NewClient(&o)
	defer func() { _ = client.Close(); wire.close() }()
	r.sent = w.node.config.Now()
	r.err = bounded.Call(func() error {
		raw, err := client.Do(ctx, args...).Result()
		if refusal.Code(err) == refusal.NoScript {
			raw, err = client.Do(ctx, append([]any{"eval", script.text}, args[2:]...)...).Result()
		}
		if err == nil {
			r.reply, err = ParseReply(raw)
		}
		return err
	})
	r.received = w.node.config.Now()
	return r
}

// knows notes which server was inspected. Another one than before is looked at thoroughly.
func (w *worker) knows(server uint64) {
	if o := &w.lookout; server != o.server {
		*o = lookout{server: server}
	}
}

// hasAnotherAnswered reports whether an answer is of another server than the one that was inspected.
func (w *worker) hasAnotherAnswered() bool {
	known := w.lookout.server
	return known != 0 && slices.ContainsFunc(w.groups, func(g *group) bool {
		return g.err == nil && g.reply.Identity != 0 && g.reply.Identity != known
	})
}
