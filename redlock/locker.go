package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

const minSweep = 100 // leases

// Locker takes locks on a fixed list of nodes. Its methods are safe for concurrent use.
type Locker struct {
	settings Settings
	quorum   *quorum.Quorum
	need     int // nodes that make a majority
	owned    []redis.UniversalClient
	janitors []*janitor // one a node

	calls   sync.WaitGroup // of the user, each over by the node timeout
	work    sync.WaitGroup // in the background: janitors, and the extensions of leases
	closing context.Context
	stop    context.CancelFunc // ends that work, when Close waits no longer

	mu     sync.Mutex // guards the fields below
	leases map[*Lease]struct{}
	sweep  int  // so many leases are looked through for those that ran out unnoticed
	closed bool // no more calls
	sealed bool // no more work in the background
}

// New makes a Locker of 1, 3, 5, ... independent Redis masters. A node may be a plain client, a
// failover client or a cluster client, each of which counts as one node; the clients stay the
// caller's, to close after the Locker. Their options may be go-redis's defaults; set
// ContextTimeoutEnabled to have their hooks called, since go-redis (9.23) does not carry them over
// to the client with shorter time-outs that is used otherwise. No node needs to be up. All problems
// are reported at once, each an [ErrConfig].
func New(nodes []redis.UniversalClient, opts ...Option) (*Locker, error) {
	settings := newSettings(opts)
	addrs, problems := checkNodes(nodes)
	problems = append(problems, settings.problems()...)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	l := &Locker{
		settings: settings,
		quorum:   quorum.New(nodes, addrs, settings.NodeTimeout, scripts...),
		leases:   make(map[*Lease]struct{}),
		sweep:    minSweep,
	}
	l.need = l.quorum.Majority()
	l.closing, l.stop = context.WithCancel(context.Background())
	for i := range nodes {
		l.janitors = append(l.janitors, &janitor{locker: l, node: i, more: make(chan struct{}, 1)})
	}
	return l, nil
}

// Settings returns what the Locker works with.
func (l *Locker) Settings() Settings { return l.settings }

// decided tells that the answers so far make a majority of yes, or that none can come any more.
func (l *Locker) decided(answers []quorum.Answer) bool {
	yes, open := 0, 0
	for _, a := range answers {
		if !a.Over {
			open++
		} else if isYes(a) {
			yes++
		}
	}
	return yes >= l.need || yes+open < l.need
}

// The keys of a Locker share one hash tag, so that on a cluster they lie in one slot.
func (l *Locker) lockKey(name string) string {
	return "{" + l.settings.KeyPrefix + "}:lock:" + name
}

func (l *Locker) fenceKey(name string) string {
	return "{" + l.settings.KeyPrefix + "}:fence:" + name
}

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

// Close abandons the leases that are still held, waits until what failed and finished holds left
// on the nodes is removed, and closes the clients that [Open] made. When ctx is done first, Close
// stops waiting and what is left runs out by its TTL. The error names all of it. A second Close
// does nothing.
func (l *Locker) Close(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	held := make([]*Lease, 0, len(l.leases))
	for lease := range l.leases {
		held = append(held, lease)
	}
	l.mu.Unlock()

	var problems []error
	held = slices.DeleteFunc(held, func(lease *Lease) bool { return !lease.Valid() })
	if len(held) > 0 {
		names := make([]string, len(held))
		for i, lease := range held {
			names[i] = fmt.Sprintf("%q until %s", lease.name, lease.Deadline().Format(time.TimeOnly))
			lease.Abandon()
		}
		slices.Sort(names)
		problems = append(problems,
			fmt.Errorf("redlock: close: abandoned what was still held: %s", strings.Join(names, ", ")))
	}

	// What is under way may still leave something to the janitors; then they finish.
	l.calls.Wait()
	_ = l.quorum.Idle(ctx) // the same is reported below
	l.awaitWork(ctx)

	for _, j := range l.janitors {
		if err := j.report(); err != nil {
			problems = append(problems, err)
		}
	}
	if err := l.quorum.Close(ctx); err != nil {
		problems = append(problems, fmt.Errorf("redlock: close: %w", err))
	}
	for _, client := range l.owned {
		if err := client.Close(); err != nil {
			problems = append(problems, fmt.Errorf("redlock: close: %w", err))
		}
	}
	return errors.Join(problems...)
}

// awaitWork waits for the work in the background until ctx is done, and then ends it.
func (l *Locker) awaitWork(ctx context.Context) {
	l.mu.Lock()
	l.sealed = true
	l.mu.Unlock()

	over := make(chan struct{})
	go func() { // ends with the work, and that at the latest by l.stop
		l.work.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
	l.stop()
	<-over
}
