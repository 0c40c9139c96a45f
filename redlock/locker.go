package redlock

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/nodeclock"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

const minSweep = 100 // leases

// Locker takes locks on a fixed list of nodes. Its methods are safe for concurrent use.
type Locker struct {
	settings Settings
	clock    *clock.Clock
	quorum   *quorum.Quorum
	clocks   *nodeclock.Clocks // of the nodes
	need     int               // nodes that make a majority
	owned    []redis.UniversalClient
	janitors []*janitor // one a node
	renewer  *renewer
	push     *push

	calls   sync.WaitGroup // of the user, each over by the node timeout
	work    sync.WaitGroup // in the background: janitors, and the extensions of leases
	open    context.Context
	shut    context.CancelFunc // when Close begins: ends what waits
	closing context.Context
	stop    context.CancelFunc // when Close waits no longer: ends the work in the background

	mu     sync.Mutex // guards the fields below
	leases map[*Lease]struct{}
	lines  map[string]*line
	sweep  int  // so many leases are looked through for those that ran out unnoticed
	closed bool // no more calls
	sealed bool // no more work in the background

	sightMu sync.Mutex // guards the fields below
	sights  []sight    // one a node
	longest time.Duration

	inspectMu   sync.Mutex // guards inspections
	inspections []inspection
}

// New makes a Locker of 1, 3, 5, ... independent Redis masters. A node may be a plain client, a
// failover client or a cluster client, each of which counts as one node; the clients stay the
// caller's, to close after the Locker. Their options may be go-redis's defaults; set
// ContextTimeoutEnabled to have their hooks called, since go-redis (9.23) does not carry them over
// to the client with shorter time-outs that is used otherwise. No node needs to be up. All problems
// are reported at once, each an [ErrConfig].
//
// A node that was never used before grants nothing for the first MaxTTL ([ErrGuarded]), as nobody
// can tell it from one that has forgotten its locks.
func New(nodes []redis.UniversalClient, opts ...Option) (*Locker, error) {
	settings := newSettings(opts)
	addrs, found := checkNodes(nodes)
	found = append(found, settings.problems()...)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	n := len(nodes)
	l := &Locker{
		settings: settings, clock: settings.clock, need: n/2 + 1,
		leases: make(map[*Lease]struct{}), lines: make(map[string]*line), sweep: minSweep,
		sights: make([]sight, n), longest: settings.MaxTTL, inspections: make([]inspection, n),
	}
	l.clocks = nodeclock.New(nodeclock.Config{
		Nodes: n, Quorum: l.need, Drift: settings.Drift, MaxSkew: settings.MaxClockSkew,
		Quarantine: settings.MaxTTL,
	})
	l.quorum = quorum.New(nodes, addrs, quorum.Config{
		Timeout: settings.NodeTimeout, Now: l.clock.Now, Scripts: scripts,
		Observe: l.observe, Inspection: l.inspection(), Inspected: l.inspected,
	})
	l.open, l.shut = context.WithCancel(context.Background())
	l.closing, l.stop = context.WithCancel(context.Background())
	for i := range nodes {
		l.janitors = append(l.janitors, &janitor{locker: l, node: i, more: make(chan struct{}, 1)})
	}
	l.renewer = &renewer{locker: l, began: l.clock.Now(), more: make(chan struct{}, 1)}
	l.push = newPush(l, nodes)
	return l, nil
}

// Settings returns what the Locker works with.
func (l *Locker) Settings() Settings { return l.settings }

// The keys of a Locker share one hash tag, so that on a cluster they lie in one slot.
func (l *Locker) lockKey(name string) string {
	return "{" + l.settings.KeyPrefix + "}:lock:" + name
}

func (l *Locker) fenceKey(name string) string {
	return "{" + l.settings.KeyPrefix + "}:fence:" + name
}

func (l *Locker) guardKey() string { return "{" + l.settings.KeyPrefix + "}:guard" }

// begin counts a call of the user, to be ended by l.calls.Done; false after Close.
func (l *Locker) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.calls.Add(1)
	}
	return !l.closed
}

// keep registers a lease that was won; false after Close. Leases that are never released but left
// to run out do not pile up: now and then it has all of them look at the clock.
func (l *Locker) keep(lease *Lease) bool {
	l.mu.Lock()
	var all []*Lease
	if !l.closed {
		l.leases[lease] = struct{}{}
		if len(l.leases) > l.sweep {
			all = slices.Collect(maps.Keys(l.leases))
		}
	}
	kept := !l.closed
	l.mu.Unlock()

	if all != nil {
		for _, other := range all {
			other.expire()
		}
		l.mu.Lock()
		l.sweep = 2*len(l.leases) + minSweep
		l.mu.Unlock()
	}
	return kept
}

func (l *Locker) forget(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.leases, lease)
}

// start runs fn in the background until it returns, which it must soon once l.closing is done;
// Close waits for it. false, and nothing is run, when Close waits for no more of it.
func (l *Locker) start(fn func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sealed {
		l.work.Go(fn)
	}
	return !l.sealed
}

func (l *Locker) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
