package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// reportsOf returns a function that returns the events of these kinds so far.
func reportsOf(l *redlock.Locker, kinds ...redlock.NodeEventKind) func() []redlock.NodeEvent {
	var mu sync.Mutex
	var all []redlock.NodeEvent
	l.OnNode(func(e redlock.NodeEvent) { // until the Locker is closed
		mu.Lock()
		defer mu.Unlock()
		if slices.Contains(kinds, e.Kind) {
			all = append(all, e)
		}
	})
	return func() []redlock.NodeEvent {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// A node that recovers while the listener is still busy with another one is not reported as failed forever.
func TestOnNode_TellsASlowListenerHowEachNodeIsInTheEnd(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		turns := func(seconds int) { // rounds in which each node is asked
			for range 2 * seconds {
				if lease, err := l.TryAcquire(t.Context(), "x"); err == nil {
					_ = lease.Release(t.Context())
				}
				time.Sleep(time.Second / 2)
			}
		}
		c.Kill(3)
		c.Kill(4)
		turns(4)
		const slow = 10 * time.Second
		reported := make(map[string]error)
		stop := l.OnNode(func(e redlock.NodeEvent) {
			if e.Kind == redlock.NodeFails || e.Kind == redlock.NodeWorks {
				time.Sleep(slow)
				reported[e.Addr] = e.Err
			}
		})
		synctest.Wait() // fn is busy with the first of the two
		c.Restart(4)
		turns(4 * int(slow/time.Second))
		stop()
		synctest.Wait() // read the reports when no more arrive
		if away, works := reported[c.Addrs()[3]], reported[c.Addrs()[4]]; len(reported) != 2 || away == nil || works != nil {
			t.Errorf("reported for the failed node: %v; for the recovered node: %v", away, works)
		}
	})
}

func TestOnNode_NoCallBeginsAfterStop(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		l := withoutNodes(t, c, 3, 4)
		busy, calls := make(chan struct{}), 0
		stop := l.OnNode(func(redlock.NodeEvent) {
			calls++
			<-busy
		})
		synctest.Wait()
		stop()
		close(busy)
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls, of which one began before it was stopped", calls)
		}
	})
}

func TestClose_NamesANodeListenerThatHangs(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		l := withoutNodes(t, c, 4)
		hung := make(chan struct{})
		defer close(hung)
		l.OnNode(func(redlock.NodeEvent) { <-hung })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := l.Close(ctx)
		want.Text(t, err, "redlock: close: a function given to OnNode, OnNewLeader or Extension has not returned")
		if strings.Contains(err.Error(), "a connection") {
			t.Errorf("it blames a connection: %v", err)
		}
	})
}

// withoutNodes returns a Locker that has noticed that nodes are unreachable.
func withoutNodes(t *testing.T, c *bubble.Cluster, nodes ...int) *redlock.Locker {
	l, _ := c.Locker()
	for _, node := range nodes {
		c.Kill(node)
	}
	for range 8 {
		if lease, err := l.TryAcquire(t.Context(), "x"); err == nil {
			_ = lease.Release(t.Context())
		}
		time.Sleep(time.Second / 2)
	}
	return l
}

// A follower has no other reason to ask most nodes again.
func TestOnNode_AFailingNodeIsAskedUntilItWorksAgain(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		l := withoutNodes(t, c, 3, 4)
		failing := make(map[string]bool)
		stop := l.OnNode(func(e redlock.NodeEvent) { failing[e.Addr] = e.Kind == redlock.NodeFails })
		synctest.Wait()
		if len(failing) != 2 {
			t.Fatalf("reported: %v, want two nodes that fail", failing)
		}
		c.Restart(3)
		time.Sleep(2 * ttl)
		stop()
		synctest.Wait()
		if addrs := c.Addrs(); failing[addrs[3]] || !failing[addrs[4]] {
			t.Errorf("failing: %v, want %s alone", failing, addrs[4])
		}
	})
}

// exhausted is a hook of a client whose pool has no connection left.
type exhausted struct{ redis.Hook }

func (exhausted) DialHook(next redis.DialHook) redis.DialHook { return next }

func (exhausted) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { return redis.ErrPoolTimeout }
}

func (exhausted) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			cmd.SetErr(redis.ErrPoolTimeout)
		}
		return redis.ErrPoolTimeout
	}
}

// The node is asked on a connection beside the client's pool.
func TestOnNode_AClientThatGivesNoConnectionIsNotTheNodesFault(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		links := c.Links()
		options, clients := links.Options(0), links.Clients()
		options.ContextTimeoutEnabled = true // the client is used as it is
		client := redis.NewClient(options)
		client.AddHook(exhausted{})
		defer client.Close()
		clients[0] = client
		l, err := redlock.New(clients)
		if err != nil {
			t.Fatal(err)
		}
		reported := reportsOf(l, redlock.NodeFails, redlock.NodeProblem)
		for range 5 {
			if lease, err := l.TryAcquire(t.Context(), "x"); err == nil {
				_ = lease.Release(t.Context())
			}
			time.Sleep(time.Second / 2)
		}
		if all := reported(); len(all) > 0 {
			t.Errorf("reported %+v, want nothing", all)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A node that answers differently each time does not control how much is reported, and so how much is logged.
func TestOnNode_TellsOfOneNodeAtAPace(t *testing.T) {
	for how, answer := range map[string]func(p *server.Peer, cmd string) bool{
		"other words each time": func(p *server.Peer, cmd string) bool {
			if cmd != "EVALSHA" {
				return false
			}
			word := make([]byte, 12)
			for i := range word {
				word[i] = byte('a' + rand.N(26))
			}
			p.WriteError("ERR " + string(word))
			return true
		},
		"another time each time": func(p *server.Peer, cmd string) bool {
			if cmd != "TIME" {
				return false
			}
			at := time.Now().Add(rand.N(10 * time.Second))
			p.WriteLen(2)
			p.WriteBulk(fmt.Sprint(at.Unix()))
			p.WriteBulk(fmt.Sprint(at.Nanosecond() / 1000))
			return true
		},
	} {
		t.Run(how, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				l, _ := c.Locker()
				reported := reportsOf(l, redlock.NodeFails, redlock.NodeProblem, redlock.NodeStepped)
				acquireAndRelease(t, l, "x")
				c.SetPreHook(0, func(p *server.Peer, cmd string, _ ...string) bool { return answer(p, strings.ToUpper(cmd)) })
				for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(100 * time.Millisecond) {
					acquireAndRelease(t, l, "x")
				}
				if n := len(reported()); n < 1 || n > 50 {
					t.Errorf("%d events in 20 s", n)
				}
			})
		})
	}
}

// Other requests of the node work, and do not hide that one does not.
func TestOnNode_ARightThatIsMissingIsReportedUntilItIsGranted(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		reported := reportsOf(l, redlock.NodeFails, redlock.NodeWorks, redlock.NodeDenies, redlock.NodeProblem)
		acquireAndRelease(t, l, "x")
		c.Deny(0, "HMGET") // which Holder and TryAcquire need, and Nodes does not
		denied := func() error {
			if _, err := l.Holder(t.Context(), "x"); err == nil {
				t.Error("it is not denied")
			}
			return l.Nodes(t.Context())[0].Denied
		}
		for began := time.Now(); time.Since(began) < 150*time.Second; time.Sleep(time.Second) {
			want.Text(t, denied(), "the user lacks the right +hmget: script holder: ")
		}
		if all := reported(); len(all) != 3 || slices.ContainsFunc(all, func(e redlock.NodeEvent) bool {
			return e.Kind != redlock.NodeDenies || e.Op != "holder"
		}) {
			t.Errorf("reported %+v, want the denial once a minute", all)
		}
		c.Deny(0)
		_, err := l.Holder(t.Context(), "x")
		want.Err(t, err, redlock.ErrVacant)
		if n := l.Nodes(t.Context())[0]; n.Denied != nil {
			t.Errorf("now that it has the right: %+v", n)
		}
	})
}
