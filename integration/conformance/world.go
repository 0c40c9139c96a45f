package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

// What a Locker works with unless a case says otherwise: so much that on a busy machine no lease runs
// out by accident and no well node is too slow.
const (
	TTL         = time.Minute
	NodeTimeout = time.Second
)

// settled is how long after the nodes answer again something of ours may be left.
const settled = 2 * NodeTimeout

// patience is how long a case waits for what must come, however busy the machine.
const patience = 30 * time.Second

// Nodes are independent servers.
type Nodes interface {
	Size() int
	// Raw is a client of node i past all faults of processes.
	Raw(i int) *redis.Client
	// Links makes another process's way to the nodes.
	Links() Links
	// Requests is how many scripts node i has been sent, at least, and commands, at most.
	Requests(i int) int

	// Restart ends node i without a farewell and starts it with the data that it had.
	Restart(i int)
	// RestartEmpty is Restart without data.
	RestartEmpty(i int)
	// Backup copies the data of node i.
	Backup(i int)
	// RestartFromBackup is Restart with the data of the last Backup.
	RestartFromBackup(i int)
}

// Links is a process's way to the nodes. Its faults hold for that process alone, for the nodes named,
// all if none is.
type Links interface {
	// Options are for a client of node i that go-redis would make itself, but for the way.
	Options(i int) *redis.Options
	// Cut breaks connections and refuses new ones.
	Cut(nodes ...int)
	// Hang lets nothing pass in either direction until Heal.
	Hang(nodes ...int)
	// Delay holds every byte back for d in each direction.
	Delay(d time.Duration, nodes ...int)
	Heal(nodes ...int)
}

// World is all that a case has to do with.
type World struct {
	Nodes
	Prefix string        // of the keys; another one for each case that shares nodes
	Busy   time.Duration // what other work on the machine may add to a time
	Rounds int           // of what is played at random
}

// Process is one process that uses the lock.
type Process struct {
	*redlock.Locker
	Links
	nodes []string // as errors name them
}

// Process starts another process.
func (w *World) Process(t *testing.T, opts ...redlock.Option) *Process {
	t.Helper()
	return w.ProcessWith(t, func(*redis.Options) {}, opts...)
}

// ProcessWith starts another process, with other options of its clients.
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
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = l.Close(ctx) // names the leases that the case has left
		for _, client := range clients {
			_ = client.Close() // fails only where it is closed already
		}
	})
	return p
}

// under is the same world for another prefix, whose MaxTTL may be another.
func (w *World) under(prefix string) *World {
	own := *w
	own.Prefix = prefix
	return &own
}

// age makes nodes that are new to the prefix such as have been in use for long: their guards are over.
func (w *World) age(t *testing.T, maxTTL time.Duration) {
	t.Helper()
	p := w.Process(t, redlock.WithTTL(maxTTL), redlock.WithNodeTimeout(min(NodeTimeout, maxTTL/4)))
	w.Await(t, "guard on all nodes", patience, func() bool {
		_, _ = p.TryAcquire(t.Context(), "first") // is refused, or was not answered in time
		return !slices.ContainsFunc(w.all(), func(i int) bool { return !w.records().Guarded(t, w.Raw(i)) })
	})
	for i := range w.Size() {
		w.records().Age(t, w.Raw(i))
	}
}

// Await waits until something is there, which must be within that time.
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

// Lasts fails unless something is so for that time.
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

// step is how often to look.
func step(d time.Duration) time.Duration { return max(d/50, 5*time.Millisecond) }

// Takes fails if fn takes longer.
func (w *World) Takes(t *testing.T, what string, limit time.Duration, fn func()) {
	t.Helper()
	began := time.Now()
	fn()
	if took := time.Since(began); took > limit+w.Busy {
		t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
}
