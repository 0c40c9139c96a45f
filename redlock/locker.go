package redlock

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/nodeclock"
	"github.com/redlockfx/redlockfx/internal/notify"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// detection is how much finer than WithDrift the clocks of nodes are watched: the drift is the worst that a lease bears,
// and clocks that do not jump are far better. A clock that was moved by less than the drift of a minute would pass for one
// that is merely fast, and end leases of 10 s early.
const detection = 10

// maxAsking is how many of those who wait ask at a time. If thousands did at once, most answers would be too late, and all
// would have to ask again.
const maxAsking = 500

// minSweep is how many leases a Locker has before it looks for those that ran out.
const minSweep = 100

// Locker takes locks on a fixed list of nodes. Its methods are safe for concurrent use.
type Locker struct {
	*lifecycle
	settings Settings
	clock    *clock.Clock
	quorum   *quorum.Quorum
	clocks   *nodeclock.Clocks // of the nodes
	size     int               // nodes
	need     int               // nodes that make a majority
	hash     string            // the key of everything
	list     string            // longest lease and size, as the scripts have it
	channels bool              // publish in any case: a node may be a cluster
	commands commands
	owned    []redis.UniversalClient
	janitors []*janitor // one a node
	renewer  *renewer
	notifier *notify.Notifier
	inbox    *inbox
	asking   chan struct{} // a place for each attempt of those who wait
	observed *observed

	mu      sync.Mutex // guards the fields below
	leases  map[*Lease]struct{}
	queues  map[string]*queue
	given   map[string]gift // locks that were given up while others waited, by name
	passing retry.Pace      // of the messages that are passed on
	served  [8]string       // the holds after which one of this process has taken the lock, the last ones
	sweep   int             // look for leases that ran out at this many; doubles after each sweep
}

// New makes a Locker of 1, 3, 5, ... independent Redis masters. A node may be a plain client, a failover client or a
// cluster client, each of which counts as one node; the clients stay the caller's, to close after the Locker. Their options
// may be go-redis's defaults: a call ends by the node timeout, and that of a plain or failover client is sent once, whatever
// they say. No node needs to be up. All problems are reported at once, each an [ErrConfig].
//
// A node that was never used before grants nothing for the first MaxTTL ([ErrGuarded]), as nobody can tell it from one that
// has lost its locks.
func New(nodes []redis.UniversalClient, opts ...Option) (*Locker, error) {
	settings := newSettings(opts)
	var found problems
	if settings.tls != nil {
		found.add("tls: WithTLS is for Open: set the TLSConfig of the clients instead")
	}
	return newLocker(nodes, settings, found)
}

// newLocker makes a Locker if there are no problems, neither among those found so far nor others.
func newLocker(nodes []redis.UniversalClient, settings Settings, found problems) (*Locker, error) {
	addrs, more := checkNodes(nodes)
	found = slices.Concat(more, found, settings.problems())
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	n := len(nodes)
	l := &Locker{
		lifecycle: newLifecycle(), settings: settings, clock: settings.clock, size: n, need: n/2 + 1,
		hash: "{" + settings.KeyPrefix + "}", list: listOf(settings, n), channels: anyCluster(nodes),
		leases: make(map[*Lease]struct{}), queues: make(map[string]*queue), given: make(map[string]gift), sweep: minSweep,
		asking:   make(chan struct{}, maxAsking),
		observed: newObserved(n),
		passing:  retry.Pace{Burst: 1000, Every: time.Millisecond}, // a process that closes passes many on
	}
	l.commands = l.newCommands()
	l.clocks = nodeclock.New(nodeclock.Config{
		Nodes: n, Quorum: l.need, Drift: settings.Drift / detection, MaxSkew: settings.MaxClockSkew,
		Quarantine: l.quarantine,
	})
	l.quorum = quorum.New(nodes, addrs, quorum.Config{
		Timeout: settings.NodeTimeout, Now: l.clock.Now, Scripts: scripts, Seen: l.see,
		Inspection: quorum.NewInspection(l.commands.inspect.Call(nil), l.inspected),
	})
	for i := range nodes {
		l.janitors = append(l.janitors, newJanitor(l, i))
	}
	l.renewer = &renewer{locker: l, began: l.clock.Now(), more: make(chan struct{}, 1), slots: make(map[time.Time]*slot)}
	l.notifier = notify.New(nodes, notify.Config{
		Timeout: settings.NodeTimeout, Denied: max(settings.TTL, time.Second), Start: l.start, Open: l.open,
		Seen: func(node int, err error) { l.observeFailure(node, inPush, "subscribe", err) },
	})
	l.inbox = newInbox(l.hash, l.notifier, l.deliver)
	return l, nil
}

// Settings returns what the Locker works with.
func (l *Locker) Settings() Settings { return l.settings }

// fieldOf is the field of a lock's record.
func fieldOf(name string) string { return "n:" + name }

// channelOf is where the nodes tell of a lock. It shares the hash tag, so that on a cluster it lies in the same slot.
func (l *Locker) channelOf(name string) string { return l.hash + ":" + fieldOf(name) }

// keep registers a lease that was won; false after Close. Leases that are never released but left to run out do not pile
// up: now and then all of them look at the clock, in the background.
func (l *Locker) keep(lease *Lease) bool {
	if l.isClosed() {
		return false
	}
	l.mu.Lock()
	l.leases[lease] = struct{}{}
	var all []*Lease
	if len(l.leases) > l.sweep {
		all = slices.Collect(maps.Keys(l.leases))
		l.sweep = 2*len(l.leases) + minSweep
	}
	l.mu.Unlock()
	if all != nil {
		l.start(func() {
			for _, other := range all {
				other.expire()
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.sweep = 2*len(l.leases) + minSweep
		})
	}
	return true
}

func (l *Locker) forget(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.leases, lease)
}
