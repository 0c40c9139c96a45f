//go:build unix

package integration_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

// severalTTL leaves time for the looks of a process, which take half of the node timeout at most.
const severalTTL = 5 * longTimeout

const severalServers = "its address leads to several servers (run "

// startAlone starts servers, each of which is the only node of its own list, and has granted a lock. A proxy leads to the first.
func startAlone(t *testing.T, n int) (*redisproc.Cluster, *redisproc.Proxy) {
	t.Helper()
	servers := startServers(t, n)
	for _, addr := range servers.Addrs() {
		release(t, acquire(t, alone(t, addr), "earlier"))
	}
	proxy, err := servers.Node(0).Proxy()
	must(t, err)
	return servers, proxy
}

// alone makes a Locker whose list has one address.
func alone(t *testing.T, addr string) *redlock.Locker {
	t.Helper()
	return lockerOn(t, clients(t, addr), redlock.WithTTL(severalTTL), redlock.WithNodeTimeout(longTimeout))
}

// Each new connection to one address leads to the next server. No two callers ever have the lock, and each learns why.
func TestSeveral_ServersAtOneAddressGrantNothing(t *testing.T) {
	t.Parallel()
	tests := beside{t: t}
	defer tests.Wait()
	for name, n := range map[string]int{"two servers": 2, "three servers": 3} {
		tests.run(name, func(t *testing.T) {
			servers, proxy := startAlone(t, n)
			var all []*redisproc.Node
			for i := range n {
				all = append(all, servers.Node(i))
			}
			proxy.Lead(all...)
			var held, both, told atomic.Int64
			var users sync.WaitGroup
			for range 3 {
				l := alone(t, proxy.Addr())
				users.Go(func() {
					for began := time.Now(); time.Since(began) < 2*severalTTL; time.Sleep(rand.N(20 * time.Millisecond)) {
						lease, err := l.TryAcquire(t.Context(), "x")
						if err != nil {
							if strings.Contains(err.Error(), severalServers) {
								told.Add(1)
							}
							continue
						}
						if held.Add(1) > 1 && lease.Valid() {
							both.Add(1)
						}
						time.Sleep(20 * time.Millisecond)
						held.Add(-1)
						_ = lease.Release(t.Context())
					}
				})
			}
			users.Wait()
			if both.Load() > 0 || told.Load() == 0 {
				t.Errorf("%d times two had the lock, %d errors say that there are several servers", both.Load(), told.Load())
			}
		})
	}
}

// An address fails over: new connections lead to another server, and those that are open to the old one, which still answers.
func TestSeveral_AnAddressThatFailedOverRecovers(t *testing.T) {
	t.Parallel()
	servers, proxy := startAlone(t, 2)
	l := alone(t, proxy.Addr())
	release(t, acquire(t, l, "x"))
	proxy.Lead(servers.Node(1))
	poll(t, "look that finds the other server", func() bool {
		err := l.Nodes(t.Context())[0].Err
		return err != nil && strings.Contains(err.Error(), severalServers)
	})
	began := time.Now()
	release(t, acquire(t, l, "x"))
	if took := time.Since(began); took > 3*severalTTL+busy {
		t.Errorf("it took %v to recover", took)
	}
	release(t, acquire(t, alone(t, proxy.Addr()), "x"))
}
