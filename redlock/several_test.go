package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// oneAddress makes a process whose list has one address, which leads to these servers in turn.
func oneAddress(c *bubble.Cluster, servers []int, opts ...redlock.Option) (*redlock.Locker, *nodetest.Links) {
	c.T.Helper()
	links := c.Links()
	links.LeadInTurn(0, servers...)
	l, err := redlock.New(links.Clients()[:1], opts...)
	want.NoError(c.T, err)
	c.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.Close(ctx) // names the leases that the test has left
	})
	return l, links
}

// inUse has each server granted locks by itself for a while, so no guard hides what the address does.
func inUse(t *testing.T, c *bubble.Cluster) {
	t.Helper()
	for i := range c.N {
		l, _ := oneAddress(c, []int{i})
		lease, err := l.Acquire(t.Context(), "earlier")
		want.NoError(t, err)
		want.NoError(t, lease.Release(t.Context()))
	}
}

const severalServers = "its address leads to several servers (run "

// Each server grants the lock to somebody else. Whoever sees that there are several takes nothing, and says so.
func TestAcquire_ThroughOneAddressOfSeveralServers(t *testing.T) {
	long(t)
	for _, servers := range [][]int{{0, 1}, {0, 1, 2}, {0, 1, 1, 2, 0}} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
				inUse(t, c)
				var held, both atomic.Int64
				var users sync.WaitGroup
				for k := range 3 {
					l, _ := oneAddress(c, append(servers[k%len(servers):len(servers):len(servers)], servers[:k%len(servers)]...))
					users.Go(func() {
						for began := time.Now(); time.Since(began) < 2*ttl; time.Sleep(rand.N(50 * time.Millisecond)) {
							lease, err := l.TryAcquire(t.Context(), "x")
							if err != nil {
								continue
							}
							if held.Add(1) > 1 {
								both.Add(1)
							}
							time.Sleep(20 * time.Millisecond)
							held.Add(-1)
							_ = lease.Release(t.Context())
						}
					})
				}
				users.Wait()
				if n := both.Load(); n > 0 {
					t.Errorf("%d times two have held the lock", n)
				}
			})
		})
	}
}

func TestNodes_NameTheServersOfOneAddress(t *testing.T) {
	bubble.RunFresh(t, 2, func(t *testing.T, c *bubble.Cluster) {
		inUse(t, c)
		l, _ := oneAddress(c, []int{0, 1})
		reported := reportsOf(l, redlock.NodeFails, redlock.NodeProblem, redlock.NodeChanged)
		for began := time.Now(); time.Since(began) < 150*time.Second; time.Sleep(time.Second) {
			_, err := l.TryAcquire(t.Context(), "x")
			want.Err(t, err, redlock.ErrNoQuorum)
			want.Text(t, err, severalServers, "name each one")
			n := l.Nodes(t.Context())[0]
			want.Text(t, n.Err, severalServers)
		}
		all := reported()
		if len(all) != 3 {
			t.Errorf("reported %+v, want the address once a minute", all)
		}
		for _, e := range all {
			if e.Kind != redlock.NodeProblem || e.Op != "address" || !strings.Contains(e.Err.Error(), severalServers) {
				t.Errorf("reported %+v", e)
			}
		}
	})
}

// After a failover, new connections lead to another server, and those that are open to the old one for a while.
func TestAcquire_ThroughAnAddressThatFailsOver(t *testing.T) {
	bubble.RunFresh(t, 2, func(t *testing.T, c *bubble.Cluster) {
		inUse(t, c)
		l, links := oneAddress(c, []int{0})
		acquireAndRelease(t, l, "x")
		links.LeadInTurn(0, 1)
		refused := false
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(time.Second) {
			lease, err := l.TryAcquire(t.Context(), "x")
			if err == nil {
				_ = lease.Release(t.Context())
			} else {
				refused = refused || strings.Contains(err.Error(), severalServers)
			}
		}
		if !refused {
			t.Error("the old server still answered, and nothing was refused")
		}
		acquireAndRelease(t, l, "x")
		want.NoError(t, l.Nodes(t.Context())[0].Err)
	})
}

// A server that has not answered before is looked at thoroughly, whenever the address was looked at before.
func TestAcquire_ThroughAnAddressThatLeadsToSeveralServersLater(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		inUse(t, c)
		l, links := oneAddress(c, []int{0})
		for range 10 {
			acquireAndRelease(t, l, "x")
			time.Sleep(time.Minute)
		}
		links.LeadInTurn(0, 1, 2)
		c.Restart(0)
		_, err := l.TryAcquire(t.Context(), "x")
		want.Text(t, err, severalServers)
	})
}

// A failover leads to a server that has an identity of its own, as has one that is promoted again. A replica grants nothing.
func TestAcquire_ThroughAnAddressThatFailsOverIsNotBlamed(t *testing.T) {
	promote := func(c *bubble.Cluster, to int, id string) {
		for i, role := range map[int]string{to: "master", 1 - to: "slave"} {
			c.SetInfo(i, "role", role)
			c.SetInfo(i, "master_replid", strings.Repeat(id, 40))
		}
	}
	for name, failOver := range map[string]func(*bubble.Cluster, *nodetest.Links){
		"there and back": func(c *bubble.Cluster, links *nodetest.Links) {
			for i, id := range []string{"a", "b", "c", "d"} {
				promote(c, 1-i%2, id)
				links.Lead(0, 1-i%2)
				time.Sleep(ttl / 5)
			}
		},
		"it stays open to the replica": func(c *bubble.Cluster, links *nodetest.Links) {
			promote(c, 1, "a")
			links.LeadInTurn(0, 1)
		},
		"it leads to the replica as well for a while": func(c *bubble.Cluster, links *nodetest.Links) {
			promote(c, 1, "a")
			links.LeadInTurn(0, 1, 0)
			time.Sleep(ttl)
			links.Lead(0, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, 2, func(t *testing.T, c *bubble.Cluster) {
				inUse(t, c)
				l, links := oneAddress(c, []int{0})
				acquireAndRelease(t, l, "x")
				var users sync.WaitGroup
				began := time.Now()
				users.Go(func() {
					for ; time.Since(began) < 3*ttl; time.Sleep(ttl / 50) {
						lease, err := l.TryAcquire(t.Context(), "x")
						if err == nil {
							_ = lease.Release(t.Context())
						} else if strings.Contains(err.Error(), severalServers) {
							t.Errorf("after %v: %v", time.Since(began), err)
						}
					}
				})
				failOver(c, links)
				users.Wait()
				acquireAndRelease(t, l, "x")
			})
		})
	}
}

// A server that restarts, however often, has another identity each time and answers alone.
func TestAcquire_FromAServerThatRestarts(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		l, _ := oneAddress(c, []int{0}, redlock.WithoutRestartGuard())
		for range 20 {
			c.Restart(0)
			synctest.Wait()
			acquireAndRelease(t, l, "x")
			time.Sleep(rand.N(2 * ttl))
			acquireAndRelease(t, l, "x")
		}
	})
}

// An address may lead to a replica for a moment, as while a name is changed after a failover. Who has connected meanwhile finds
// the master at the next call, whoever has the connections.
func TestAcquire_ThroughAnAddressThatLedToAReplica(t *testing.T) {
	for name, set := range map[string]func(*redis.Options){
		"plain":         func(*redis.Options) {},
		"Sentinel":      func(o *redis.Options) { o.Addr = quorum.Failover },
		"with contexts": func(o *redis.Options) { o.ContextTimeoutEnabled = true },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, 2, func(t *testing.T, c *bubble.Cluster) {
				c.SetInfo(1, "role", "slave")
				for i := range c.N {
					c.SetInfo(i, "master_replid", strings.Repeat("a", 40))
				}
				links := c.Links()
				o := links.Options(0)
				set(o)
				client := redis.NewClient(o)
				defer func() { want.NoError(t, client.Close()) }()
				l, err := redlock.New([]redis.UniversalClient{client}, redlock.WithoutRestartGuard())
				want.NoError(t, err)
				defer func() { want.NoError(t, l.Close(context.Background())) }()
				links.LeadInTurn(0, 1)
				_, err = l.TryAcquire(t.Context(), "x")
				want.Text(t, err, "it is a replica")
				links.LeadInTurn(0, 0)
				acquireAndRelease(t, l, "x")
			})
		})
	}
}
