package redlock

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// What a release is told with, before the value that is gone: a lease is over, or an attempt has failed
// that may have looked like one. Whoever waits asks at once after the former, and after a pause after the
// latter: failures would go on without a pause where they have one cause.
const (
	toldOver   = "over "
	toldFailed = "failed "
)

// maxIdle is how many names may be listened to for which nobody waits just now: whoever waited for
// a lock often does so again.
const maxIdle = 100

// push hears of releases: the script that releases a lock publishes it. It has one subscription at
// each node, from when somebody first waits for a lock. What it misses, for want of rights or of a
// connection, costs no more than waiting for the holder's lease to run out.
type push struct {
	locker      *Locker
	subscribers []*subscriber // one a node

	mu      sync.Mutex // guards the fields below
	topics  map[string]*topic
	started bool
}

// topic is a name that is listened to.
type topic struct {
	heard   []bool // by node: it has confirmed the subscription
	waiters map[*news]struct{}
}

// news is what one waiter hears of one name.
type news struct {
	push *push
	name string

	ready    chan struct{} // closed when a majority of nodes has confirmed the subscription
	released chan struct{} // holds one signal that it is time to ask
	failed   chan struct{} // holds one signal that what was seen was a failed attempt's

	// Guarded by push.mu.
	isReady bool
	missed  bool         // it was not ready in time, and did not wait for it
	first   int          // the node that was asked first
	release string       // the one that is told of at present
	told    map[int]bool // the nodes that told of it
}

func newPush(l *Locker, nodes []redis.UniversalClient) *push {
	p := &push{locker: l, topics: make(map[string]*topic)}
	for i, client := range nodes {
		if single, ok := client.(*redis.Client); ok {
			// A connection that is being set up cannot be called off, and Close waits for it.
			client = single.WithTimeout(l.settings.NodeTimeout)
		}
		p.subscribers = append(p.subscribers, &subscriber{
			push: p, node: i, client: client, changed: make(chan struct{}, 1),
		})
	}
	return p
}

// join begins to listen.
func (p *push) join(name string) *news {
	n := &news{
		push: p, name: name, ready: make(chan struct{}), released: make(chan struct{}, 1),
		failed: make(chan struct{}, 1), told: make(map[int]bool),
	}
	p.mu.Lock()
	t := p.topics[name]
	if t == nil {
		p.pruneLocked()
		t = &topic{heard: make([]bool, len(p.subscribers)), waiters: make(map[*news]struct{})}
		p.topics[name] = t
	}
	t.waiters[n] = struct{}{}
	n.confirmLocked(t)
	start := !p.started
	p.started = true
	p.mu.Unlock()

	for _, s := range p.subscribers {
		if start {
			p.locker.start(s.run)
		}
		s.change()
	}
	return n
}

// pruneLocked forgets the names that nobody waits for, when they are many.
func (p *push) pruneLocked() {
	if len(p.topics) < maxIdle {
		return
	}
	for name, t := range p.topics {
		if len(t.waiters) == 0 {
			delete(p.topics, name)
		}
	}
}

// leave ends listening.
func (n *news) leave() {
	n.push.mu.Lock()
	defer n.push.mu.Unlock()
	if t := n.push.topics[n.name]; t != nil {
		delete(t.waiters, n)
	}
}

// joined waits until a majority of nodes would tell of a release, or until they have had their time.
func (n *news) joined(ctx context.Context, within time.Duration) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-n.ready:
	case <-timer.C:
		n.push.mu.Lock()
		defer n.push.mu.Unlock()
		n.missed = true
	case <-n.push.locker.open.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// asks notes which node is about to be asked first. What that one tells from now on is newer than what
// it will answer.
func (n *news) asks(first int) {
	n.push.mu.Lock()
	defer n.push.mu.Unlock()
	n.first = first
}

// hears tells whether a release at the node would be heard of from now on.
func (n *news) hears(node int) bool {
	n.push.mu.Lock()
	defer n.push.mu.Unlock()
	t := n.push.topics[n.name]
	return t != nil && t.heard[node]
}

func (n *news) confirmLocked(t *topic) {
	heard := 0
	for _, yes := range t.heard {
		if yes {
			heard++
		}
	}
	if heard >= n.push.locker.need && !n.isReady {
		n.isReady = true
		close(n.ready)
		if n.missed {
			n.wakeLocked() // whatever was released since
		}
	}
}

// confirm notes that a node has confirmed a subscription. After a connection broke it does so anew, and
// a release may have been missed.
func (p *push) confirm(node int, name string, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[name]
	if t == nil {
		return
	}
	t.heard[node] = true
	for n := range t.waiters {
		n.confirmLocked(t)
		if again {
			n.wakeLocked()
		}
	}
}

// tell notes that a node has told of a release. The waiter is woken when the node that turned it down
// tells, and when a majority has told: until then the release may still be on its way to the others,
// and what came before the waiter listened is found when it asks.
func (p *push) tell(node int, name, release string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[name]
	if t == nil {
		return
	}
	for n := range t.waiters {
		if release != n.release {
			n.release = release
			clear(n.told)
		}
		if n.told[node] {
			continue
		}
		n.told[node] = true
		if node == n.first || len(n.told) == p.locker.need {
			n.signalLocked(strings.HasPrefix(release, toldFailed))
		}
	}
}

func (n *news) wakeLocked() { n.signalLocked(false) }

func (n *news) signalLocked(failed bool) {
	signal := n.released
	if failed {
		signal = n.failed
	}
	select {
	case signal <- struct{}{}:
	default: // it is awake already
	}
}

// drop forgets what was told.
func (n *news) drop() {
	select {
	case <-n.released:
	default:
	}
}

// names returns what is to be listened to. A name that was forgotten and is wanted again is another topic:
// its subscription is to be confirmed anew.
func (p *push) names() map[string]*topic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.topics)
}
