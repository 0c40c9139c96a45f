package redlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/lists"
	"github.com/redlockfx/redlockfx/internal/nodeclock"
	"github.com/redlockfx/redlockfx/internal/nodelist"
	"github.com/redlockfx/redlockfx/internal/notify"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// detection is by what factor the check of the nodes' clocks is stricter than the drift. The drift is the worst that a
// lease tolerates; clocks that do not jump are far better. If the check used the drift itself, a clock that was moved
// by less than one minute's drift would pass as merely fast, and would end leases of 10 s early.
const detection = 10

// maxAsking is how many waiting callers ask at a time. If thousands asked at once, most answers would come too late,
// and all would have to ask again.
const maxAsking = 500

// Locker takes locks on a fixed list of nodes. Its methods are safe for concurrent use.
type Locker struct {
	*lifecycle
	settings Settings
	clock    *clock.Clock
	quorum   *quorum.Quorum
	clocks   *nodeclock.Clocks // of the nodes
	jury     *jury
	size     int                        // nodes
	need     int                        // number of nodes that make a majority
	hash     string                     // key of the hash on every node
	lists    *lists.Keeper              // nil without a guard
	member   atomic.Pointer[membership] // nil: no list yet
	channels bool                       // always publish: a node may be a cluster
	commands commands
	owned    []redis.UniversalClient
	janitors []*janitor // one per node
	leases   *leases
	renewer  *renewer
	notifier *notify.Notifier
	queues   *queues
	tells    *tells
	asking   chan struct{} // semaphore for the attempts of waiting callers
	observed *observed
}

// New makes a Locker of independent Redis masters: an odd number of them, usually 1, 3 or 5. A node may be a plain
// client, a failover client or a cluster client; each counts as one node. The caller closes the clients, after the
// Locker. Their options may be go-redis's defaults: whatever they say, a call ends after the node timeout, and a plain
// or failover client sends it only once. The Locker takes connections of its own from the options of a plain or cluster
// client, which include neither its hooks nor its Limiter. A plain client that must be used as it is has
// ContextTimeoutEnabled. No node needs to be up, and none is contacted yet. All problems are reported at once, each an
// [ErrConfig].
//
// From its first attempt until [Locker.Close], a Locker has one goroutine per node and one more, which sleep while there is
// nothing to do, besides those of its connections.
//
// A node that was never used before grants nothing for the first MaxTTL ([ErrGuarded]), because it looks the same as a
// node that has lost its locks.
func New(nodes []redis.UniversalClient, opts ...Option) (*Locker, error) {
	settings, found := newSettings(opts)
	if settings.tls != nil {
		found.add("tls: WithTLS is for Open: set the TLSConfig of the clients instead")
	}
	return newLocker(nodes, settings, found)
}

// newLocker makes a Locker, or returns the problems of the nodes and those found so far.
func newLocker(nodes []redis.UniversalClient, settings Settings, found problems) (*Locker, error) {
	addrs, more := checkNodes(nodes)
	found = append(more, found...)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	n := len(nodes)
	l := &Locker{
		lifecycle: newLifecycle(), settings: settings, clock: settings.clock, size: n, need: n/2 + 1,
		hash: "{" + settings.KeyPrefix + "}", channels: nodelist.AnyCluster(nodes),
		leases: newLeases(), asking: make(chan struct{}, maxAsking),
	}
	l.observed = newObserved(&l.settings, n)
	id := rand.Text()[:12] // of this process in the lines: 60 random bits; the scripts know the length
	l.tells = newTells(id, settings.TTL)
	l.commands = newCommands(l)
	l.clocks = nodeclock.New(nodeclock.Config{
		Nodes: n, Quorum: l.need, Drift: clock.Drift / detection, Spare: (clock.Drift - clock.Drift/detection) / 2,
		MaxSkew: settings.MaxClockSkew, Quarantine: l.observed.quarantine,
	})
	l.quorum = quorum.New(nodes, addrs, quorum.Config{
		Timeout: settings.NodeTimeout, Now: l.clock.Now, Scripts: scripts, Seen: l.observed.see,
		Inspection: quorum.NewInspection(l.commands.inspect.Call(nil), l.observed.inspected, l.observed.looked),
	})
	l.jury = &jury{
		settings: &l.settings, nodes: l.quorum, clocks: l.clocks, clock: l.clock, leases: l.leases, size: n, need: l.need,
	}
	l.observed.jury, l.observed.seeLabel = l.jury, l.seeLabel
	l.newLists()
	l.notifier = notify.New(nodes, notify.Config{
		Timeout: settings.NodeTimeout, Denied: max(settings.TTL, time.Second), Start: l.start, Open: l.open,
		Seen: func(node int, err error) { l.observed.seeOutcome(node, subscribe, err) },
	})
	l.queues = newQueues(l.hash, id, l.notifier)
	l.renewer = &renewer{lifecycle: l.lifecycle, clock: l.clock, extend: l.extend, began: l.clock.Now(), more: signal.New()}
	l.first = append(l.first, l.renewer.run)
	for i := range nodes {
		j := newJanitor(l, i)
		l.janitors, l.first = append(l.janitors, j), append(l.first, j.run)
	}
	l.observed.janitors = l.janitors
	return l, nil
}

// Time returns the current time by the nodes' clocks: their median, if recent answers of a quorum are known. Otherwise
// it returns false. This process's own wall clock and time zone do not matter.
func (l *Locker) Time() (time.Time, bool) {
	micros, ok := l.clocks.Median(l.clock.Now())
	return time.UnixMicro(micros).UTC(), ok
}

// Settings returns the settings that the Locker uses.
func (l *Locker) Settings() Settings { return l.settings }

// channelOf returns the channel for releases of a lock. It shares the hash tag, so on a cluster it is in the same slot.
func (l *Locker) channelOf(name string) string { return l.hash + ":" + fieldOf(name) }

// lifecycle closes a Locker in order. First, nothing more starts and waiting calls return. Then the calls under way end.
// Then the background work finishes, or is stopped.
type lifecycle struct {
	open context.Context // done when Close starts
	shut context.CancelFunc
	work context.Context // done when Close no longer waits for background work
	stop context.CancelFunc

	mu    sync.Mutex     // held while something starts and while Close starts, so that nothing starts afterwards
	calls sync.WaitGroup // of the user, each ends within the node timeout
	tasks sync.WaitGroup // in the background
	tells sync.WaitGroup // the goroutines that call functions of the application, which may wait for Close themselves
	first []func()       // tasks that the first call starts: a Locker that is not used needs no Close
}

func newLifecycle() *lifecycle {
	c := new(lifecycle)
	c.open, c.shut = context.WithCancel(context.Background())
	c.work, c.stop = context.WithCancel(context.Background())
	return c
}

func (c *lifecycle) isClosed() bool { return c.open.Err() != nil }

// begin counts a call of the user, which must end with calls.Done. It returns false after Close has started.
func (c *lifecycle) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return false
	}
	for _, task := range c.first {
		c.tasks.Go(task)
	}
	c.first = nil
	c.calls.Add(1)
	return true
}

// start runs fn in the background; Close waits for it. fn must return soon after work is done. start returns false,
// without running fn, after Close has started.
func (c *lifecycle) start(fn func()) bool { return c.startIn(&c.tasks, fn) }

// startTelling is start for fn that calls a function of the application, until open is done. Close waits for it for a moment
// only, and reports it.
func (c *lifecycle) startTelling(fn func()) bool { return c.startIn(&c.tells, fn) }

func (c *lifecycle) startIn(group *sync.WaitGroup, fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return false
	}
	group.Go(fn)
	return true
}

// close stops calls and tasks from starting. It returns false if it was called before.
func (c *lifecycle) close() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return false
	}
	c.shut()
	return true
}

// finish waits for the background work until ctx is done, and then stops it. It returns an error if that, or a function of
// the application, has not ended within that time.
func (c *lifecycle) finish(ctx context.Context, within time.Duration) error {
	done, told := make(chan struct{}), make(chan struct{})
	go func() { // ends with the tasks, which end soon after stop; finish waits for it or returns an error
		c.tasks.Wait()
		close(done)
		c.tells.Wait()
		close(told)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	c.stop()
	select {
	case <-told:
		return nil
	case <-time.After(within):
	}
	select {
	case <-done:
		return errors.New("redlock: close: a function given to OnNode, OnNewLeader or Extension has not returned")
	default:
		return errors.New("redlock: close: a connection attempt to subscribe to a node " +
			"cannot be canceled: it ends when its client gives up")
	}
}

// maxNamed is how many leases an error lists.
const maxNamed = 20

// Close abandons the leases that are still held, waits until the leftovers of failed and finished acquisitions are
// removed from the nodes, and closes the clients that [Open] made. If ctx is done first, Close stops waiting and the
// leftovers expire after their TTL. The error names the abandoned leases and the nodes with leftovers. A second Close
// does nothing.
//
// Close does not wait for work under the leases, so that work may call it. It waits two node timeouts for a function of
// [Locker.OnNode] or [Extension], or of an Elector's OnNewLeader, to return, and then reports it, since that may be its caller.
func (l *Locker) Close(ctx context.Context) error {
	if !l.close() {
		return nil
	}
	l.calls.Wait() // each ends within the node timeout; then no new lease can be won
	var problems []error
	if held := l.leases.held(); len(held) > 0 {
		names := make([]string, len(held))
		for i, lease := range held {
			names[i] = fmt.Sprintf("%q until %s", lease.grant.name, lease.Deadline().Format(time.TimeOnly))
			lease.Abandon()
		}
		slices.Sort(names)
		if more := len(names) - maxNamed; more > 0 {
			names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
		}
		problems = append(problems,
			fmt.Errorf("redlock: close: abandoned leases that were still held: %s", strings.Join(names, ", ")))
	}

	_ = l.quorum.Idle(ctx) // calls under way may still leave work to the janitors; quorum.Close reports the same error below
	for _, j := range l.janitors {
		j.finish()
	}
	if err := l.finish(ctx, 2*l.settings.NodeTimeout); err != nil {
		problems = append(problems, err)
	}

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
