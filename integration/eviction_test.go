//go:build unix

package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// A policy that evicts any key takes the guard along with the locks. So the node grants nothing until all of those
// locks have ended.
func TestEviction_OfAnyKeyCostsAvailabilityAlone(t *testing.T) {
	t.Parallel()
	for _, short := range []int{1, leaseNodes/2 + 1} {
		t.Run(fmt.Sprint(short), func(t *testing.T) {
			t.Parallel()
			startEviction(t, short).play(t)
		})
	}
}

func (e *eviction) play(t *testing.T) {
	// Only requests for grants meet a guard. After the loss of the lease, only the rival makes them.
	hook := &e.own
	if len(e.short) > 1 {
		hook = &e.other
	}
	costs := "eviction: maxmemory-policy is " + policy + ": .* it then grants nothing for " + ttl.String()
	began := time.Now()
	for i, server := range e.short {
		before := records.Default.GuardBegan(t, server)
		// The keys are large, so that there are few of them, and the hash is likely to be evicted.
		n := 0
		poll(t, "eviction of the hash", func() bool {
			n++
			must(t, server.Set(t.Context(), fmt.Sprint("other key ", n), strings.Repeat("x", 100<<10), 0).Err())
			return !records.Default.Exists(t, server)
		})
		must(t, server.ConfigSet(t.Context(), "maxmemory", "1gb").Err())
		poll(t, "new guard", func() bool {
			return records.Default.Exists(t, server) && records.Default.GuardBegan(t, server).After(before)
		})
		poll(t, "notices of the guard and of its cost", func() bool {
			return hook.hasGuarded(server.Options().Addr) && len(hook.sorted()) > i
		})
		if n := e.status(t, server); n.Guard <= 0 || n.Err != nil || n.Eviction != policy {
			t.Errorf("the node is %+v, want it guarded", n)
		}
	}
	if len(e.short) == 1 {
		poll(t, "lease on all nodes again", func() bool {
			return records.Default.On(t, evicted, e.servers...) == len(e.servers)
		})
		must(t, e.lease.Extend(t.Context()))
		if wins := e.rival.stop(); len(wins) > 0 {
			t.Errorf("somebody else won: %+v", wins)
		}
		release(t, e.lease)
	} else {
		select {
		case <-e.lease.Context().Done():
			want.Err(t, context.Cause(e.lease.Context()), redlock.ErrLost)
		case <-time.After(waitLimit):
			t.Fatal("the lease outlived its majority")
		}
		poll(t, "next holder", func() bool { return len(e.rival.wins()) > 0 })
		for _, w := range e.rival.stop() {
			if w.beside || w.token <= e.lease.Token() || w.at.Sub(began) < ttl {
				t.Errorf("after %v, and %d, somebody else won: %+v", w.at.Sub(began), e.lease.Token(), w)
			}
		}
	}
	wantReported(t, &hook.complaints, slices.Repeat([]string{costs}, len(e.short))...)
}

// evicted is the name of the lock in these tests.
const evicted = "evicted"

// policy evicts any key.
const policy = "allkeys-lru"

// slack is how much more memory a server may use.
const slack = 1 << 20

// eviction is three nodes, some of which are short of memory, a lease on all of them, and a rival that wants the lock.
type eviction struct {
	servers []*redis.Client
	short   []*redis.Client // servers that are short of memory, with the policy
	locker  *redlock.Locker
	lease   *redlock.Lease // extended automatically
	rival   *rival

	own, other notices // reported to the lease's holder, and to the rival
}

func startEviction(t *testing.T, short int) *eviction {
	t.Helper()
	nodes := startNodes(t, leaseNodes)
	e := &eviction{servers: admins(t, nodes.Addrs())}
	e.short = e.servers[:short]
	e.locker = lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout),
		e.own.option())
	e.lease = acquire(t, e.locker, evicted, redlock.WithAutoExtend(redlock.Extension{}))
	poll(t, "lease on all nodes", func() bool { return records.Default.On(t, evicted, e.servers...) == leaseNodes })
	for _, server := range e.short {
		limit := number(t, server, "memory", "used_memory") + slack
		must(t, server.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(),
			server.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(limit)).Err())
	}
	other := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout),
		e.other.option())
	e.rival = startRival(t, other, e.lease)
	return e
}

// status returns the status of a server's node.
func (e *eviction) status(t *testing.T, server *redis.Client) redlock.NodeStatus {
	t.Helper()
	for i, n := range e.locker.Nodes(t.Context()) {
		if e.servers[i] == server {
			return n
		}
	}
	t.Fatal("there is no such node")
	return redlock.NodeStatus{}
}

// number returns a number from a section of INFO.
func number(t *testing.T, server *redis.Client, section, field string) int {
	t.Helper()
	info, err := server.Info(t.Context(), section).Result()
	must(t, err)
	_, after, _ := strings.Cut(info, field+":")
	text, _, _ := strings.Cut(after, "\r\n")
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// rival keeps trying to take a lock that another process holds.
type rival struct {
	done   context.CancelFunc
	ended  chan struct{}
	mu     sync.Mutex // guards the field below
	leases []win
}

// win is a lease that the rival won and released at once.
type win struct {
	at     time.Time
	token  uint64
	beside bool // the other lease was valid at the same time
}

// startRival starts a rival. It ends with the test, or when stop is called.
func startRival(t *testing.T, l *redlock.Locker, held *redlock.Lease) *rival {
	ctx, cancel := context.WithCancel(t.Context())
	r := &rival{done: cancel, ended: make(chan struct{})}
	t.Cleanup(func() { r.stop() })
	go func() { // ends with ctx; stop waits
		defer close(r.ended)
		for retry.Sleep(ctx, 10*time.Millisecond) == nil {
			lease, err := l.TryAcquire(ctx, held.Name())
			if err != nil {
				continue
			}
			r.add(win{time.Now(), lease.Token(), held.Valid()})
			_ = lease.Release(context.WithoutCancel(ctx))
		}
	}()
	return r
}

func (r *rival) add(w win) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases = append(r.leases, w)
}

func (r *rival) wins() []win {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.leases)
}

// stop stops the rival, and returns its wins.
func (r *rival) stop() []win {
	r.done()
	<-r.ended
	return r.wins()
}

// notices records what a Locker reports about its nodes.
type notices struct {
	complaints
	nodes map[string]bool // nodes that it reported as guarded; protected by the mutex of complaints
}

// option makes a Locker report them.
func (n *notices) option() redlock.Option {
	return redlock.WithHooks(redlock.Hooks{NodeError: n.add, Guarded: func(node string, left time.Duration) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.nodes == nil {
			n.nodes = make(map[string]bool)
		}
		n.nodes[node] = n.nodes[node] || left > 0
	}})
}

func (n *notices) hasGuarded(node string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.nodes[node]
}
