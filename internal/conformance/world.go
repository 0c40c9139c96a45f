package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

// Default settings of a Locker: long enough that even on a busy machine no lease runs out by accident and no healthy
// node is too slow.
const (
	TTL         = time.Minute
	NodeTimeout = time.Second
)

// settled is how long leftovers may remain after the nodes answer again.
const settled = 2 * NodeTimeout

// awaitLimit is how long a case waits for an expected state, however busy the machine.
const awaitLimit = 30 * time.Second

// Nodes are independent servers.
type Nodes interface {
	Size() int
	// Raw returns a client of node i that bypasses all faults of processes.
	Raw(i int) *redis.Client
	// Links makes the links of another process to the nodes.
	Links() Links
	// Requests counts the requests that node i was sent: each script call, and perhaps other commands too.
	Requests(i int) int

	// Restart kills node i and starts it with the data that it had.
	Restart(i int)
	// RestartEmpty is Restart, but without data.
	RestartEmpty(i int)
	// Backup copies the data of node i.
	Backup(i int)
	// RestartFromBackup is Restart, but with the data of the last Backup.
	RestartFromBackup(i int)
}

// Links is a process's links to the nodes. Its faults affect only that process, and the named nodes, or all nodes if
// none is named.
type Links interface {
	// Options returns client options for node i: go-redis's defaults, except for the network path.
	Options(i int) *redis.Options
	// Cut breaks connections and refuses new ones.
	Cut(nodes ...int)
	// Hang lets no data pass in either direction until Heal.
	Hang(nodes ...int)
	// Delay delays every byte by d in each direction.
	Delay(d time.Duration, nodes ...int)
	Heal(nodes ...int)
}

// World is the environment of a case.
type World struct {
	Nodes
	Prefix string        // key prefix; different for each case that shares nodes
	Busy   time.Duration // how much other work on the machine may delay anything
	Rounds int           // number of random rounds
}

// Process is one process that uses the lock.
type Process struct {
	*redlock.Locker
	Links
	nodes []string // names in errors
}

// Process starts another process.
func (w *World) Process(t *testing.T, opts ...redlock.Option) *Process {
	t.Helper()
	return w.ProcessWith(t, func(*redis.Options) {}, opts...)
}

// ProcessWith starts another process with other client options.
func (w *World) ProcessWith(
	t *testing.T, change func(*redis.Options), opts ...redlock.Option,
) *Process {
	t.Helper()
	p := &Process{Links: w.Links()}
	var clients []redis.UniversalClient
	for i := range w.Size() {
		o := p.Options(i)
		change(o)
		clients = append(clients, redis.NewClient(o))
		p.nodes = append(p.nodes, o.Addr)
	}
	l, err := redlock.New(clients, append([]redlock.Option{
		redlock.WithKeyPrefix(w.Prefix), redlock.WithTTL(TTL), redlock.WithNodeTimeout(NodeTimeout),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	p.Locker = l
	t.Cleanup(func() {
		p.Heal()
		ctx, cancel := context.WithTimeout(context.Background(), awaitLimit)
		defer cancel()
		_ = l.Close(ctx) // its error lists the leases that the case has left
		for _, client := range clients {
			_ = client.Close() // fails only if it is already closed
		}
	})
	return p
}

// under returns the same world with another prefix, whose MaxTTL may differ.
func (w *World) under(prefix string) *World {
	own := *w
	own.Prefix = prefix
	return &own
}

// age waits until nodes that are new to the prefix grant: until their guards have ended.
func (w *World) age(t *testing.T, maxTTL time.Duration) {
	t.Helper()
	p := w.Process(t, redlock.WithTTL(maxTTL), redlock.WithNodeTimeout(min(NodeTimeout, maxTTL/4)))
	w.Await(t, "guard on all nodes", awaitLimit, func() bool {
		_, _ = p.TryAcquire(t.Context(), "first") // is refused, or not answered in time
		return !slices.ContainsFunc(w.all(), func(i int) bool { return !w.records().Guarded(t, w.Raw(i)) })
	})
	for i := range w.Size() {
		w.records().Age(t, w.Raw(i))
	}
}

// joined waits until all nodes are in one list, which processes have that hear all of them.
func (w *World) joined(t *testing.T, processes ...*Process) {
	t.Helper()
	w.Await(t, "list of all nodes", awaitLimit, func() bool {
		for _, p := range processes {
			_, err := p.TryAcquire(t.Context(), "list")
			guarded := errors.Is(err, redlock.ErrGuarded) && strings.Contains(err.Error(), "it grants nothing for another")
			if err != nil && !guarded && !errors.Is(err, redlock.ErrHeld) { // it may wait for its list
				return false
			}
		}
		nodes := processes[0].Locker.Nodes(t.Context())
		return !slices.ContainsFunc(nodes, func(n redlock.NodeStatus) bool {
			return n.List != nodes[0].List || n.List.State != redlock.ListJoined
		})
	})
}

// Await waits until there returns true, and fails the test if that takes longer than within.
func (w *World) Await(t *testing.T, what string, within time.Duration, there func() bool) {
	t.Helper()
	began := time.Now()
	ticker := time.NewTicker(step(within))
	defer ticker.Stop()
	for !there() {
		if took := time.Since(began); took > within+w.Busy {
			t.Fatalf("after %v there was no %s, want it within %v", took, what, within)
		}
		<-ticker.C
	}
}

// Lasts fails the test unless so keeps returning true for that long.
func (w *World) Lasts(t *testing.T, what string, long time.Duration, so func() bool) {
	t.Helper()
	began := time.Now()
	ticker := time.NewTicker(step(long))
	defer ticker.Stop()
	for time.Since(began) < long {
		if !so() {
			t.Fatalf("after %v it was over: %s, want it for %v", time.Since(began), what, long)
		}
		<-ticker.C
	}
}

// step returns the poll interval.
func step(d time.Duration) time.Duration { return max(d/50, 5*time.Millisecond) }

// Takes fails the test if fn takes longer than limit.
func (w *World) Takes(t *testing.T, what string, limit time.Duration, fn func()) {
	t.Helper()
	began := time.Now()
	fn()
	if took := time.Since(began); took > limit+w.Busy {
		t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
}
