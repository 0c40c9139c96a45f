package notify_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/notify"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// denied is the pause after a node has denied a channel.
const denied = time.Second

// process is a process with subscriptions to nodes.
type process struct {
	*notify.Notifier
	*nodetest.Links
	cluster  *nodetest.Cluster
	failures *atomic.Int32
}

func run(t *testing.T, test func(t *testing.T, p *process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(3)
		defer c.Close()
		open, end := context.WithCancel(context.Background())
		var tasks sync.WaitGroup
		defer tasks.Wait()
		defer end()
		links := c.Links()
		var failures atomic.Int32
		n := notify.New(links.Clients(), notify.Config{
			Open: open, Start: func(fn func()) bool { tasks.Go(fn); return true },
			Timeout: 100 * time.Millisecond, Denied: denied, Seen: func(_ int, err error) {
				if err != nil {
					failures.Add(1)
				}
			},
		})
		test(t, &process{n, links, c, &failures})
	})
}

func (p *process) publish(t *testing.T, node int, text string) {
	t.Helper()
	if err := p.cluster.Raw()[node].Publish(t.Context(), "x", text).Err(); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// subscription is a Subscription to channel x and its events since the last wantEvents.
type subscription struct {
	*notify.Subscription
	mu     sync.Mutex // guards the field below
	events []notify.Event
}

func (p *process) subscribe() *subscription {
	s := new(subscription)
	s.Subscription = p.Subscribe("x", func(e notify.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, e)
	})
	return s
}

// wantEvents fails the test unless these are the events that the subscription has had since the last call. The order of
// those of different nodes does not matter.
func wantEvents(t *testing.T, s *subscription, want ...notify.Event) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.events, func(a, b notify.Event) int { return a.Node - b.Node })
	if fmt.Sprint(s.events) != fmt.Sprint(want) {
		t.Errorf("got events %v, want %v", s.events, want)
	}
	s.events = nil
}

func text(node int) notify.Event {
	return notify.Event{Node: node, Text: fmt.Sprint("from ", node)}
}

func back(nodes ...int) (all []notify.Event) {
	for _, node := range nodes {
		all = append(all, notify.Event{Node: node, Back: true})
	}
	return all
}

// A node that goes away is reported when it is back. The others' messages still come.
func TestSubscribe_ReportsEachNodeThatIsAway(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		s := p.subscribe()
		wantEvents(t, s, back(0, 1, 2)...)
		p.Cut(1)
		time.Sleep(time.Minute) // it tries to connect again and again
		wantEvents(t, s)
		for node := range 3 {
			p.publish(t, node, fmt.Sprint("from ", node))
		}
		wantEvents(t, s, text(0), text(2))
		p.Heal()
		time.Sleep(6 * time.Second) // more than the longest pause between two dials
		wantEvents(t, s, back(1)...)
		p.publish(t, 1, "from 1")
		wantEvents(t, s, text(1))
	})
}

// A router may have forgotten a connection on which nothing was sent for a while. Nothing else would show that.
func TestSubscribe_NoticesAConnectionThatIsSilent(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		s := p.subscribe()
		wantEvents(t, s, back(0, 1, 2)...)
		p.Hang(1)
		time.Sleep(51 * time.Second)
		p.Heal()
		time.Sleep(6 * time.Second) // more than the longest pause between two dials
		wantEvents(t, s, back(1)...)
		p.publish(t, 1, "from 1")
		wantEvents(t, s, text(1))
		dials := p.cluster.Node(1).TotalConnectionCount()
		time.Sleep(time.Hour)
		wantEvents(t, s)
		if n := p.cluster.Node(1).TotalConnectionCount() - dials; n > 0 {
			t.Errorf("%d new connections, although the one before them works", n)
		}
	})
}

// A server that refuses the question shows by that as well that the connection works.
func TestSubscribe_AnyAnswerShowsThatTheConnectionWorks(t *testing.T) {
	for _, refusal := range []string{"ERR unknown command", "NOPERM this user has no permissions to run the command"} {
		run(t, func(t *testing.T, p *process) {
			p.cluster.SetPreHook(1, func(peer *server.Peer, cmd string, _ ...string) bool {
				if cmd == "UNSUBSCRIBE" {
					peer.WriteError(refusal)
				}
				return cmd == "UNSUBSCRIBE"
			})
			s := p.subscribe()
			wantEvents(t, s, back(0, 1, 2)...)
			dials := p.cluster.Node(1).TotalConnectionCount()
			time.Sleep(time.Hour)
			if n := p.cluster.Node(1).TotalConnectionCount() - dials; n > 0 || p.failures.Load() > 0 {
				t.Errorf("%d new connections, and %d failures are reported", n, p.failures.Load())
			}
			p.publish(t, 1, "from 1")
			wantEvents(t, s, text(1))
		})
	}
}

// What a node published before it has confirmed the channel may have been missed.
func TestSubscribe_ThatIsConfirmedLateReportsMissedMessages(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		p.Cut()
		s := p.subscribe()
		time.Sleep(time.Second)
		wantEvents(t, s)
		p.Heal(2)
		time.Sleep(6 * time.Second) // more than the longest pause between two dials
		wantEvents(t, s, back(2)...)
	})
}

// The nodes are not asked for a channel twice, and the second subscription to it goes on when the first is closed.
func TestSubscribe_ToAChannelThatIsSubscribedTo(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		first := p.subscribe()
		wantEvents(t, first, back(0, 1, 2)...)
		second := p.subscribe()
		wantEvents(t, second)
		first.Close()
		first.Close() // does nothing
		p.publish(t, 2, "from 2")
		wantEvents(t, first)
		wantEvents(t, second, text(2))
	})
}

func TestSubscribe_ToAChannelThatWasJustClosed(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		other := p.Subscribe("y", func(notify.Event) {})
		first := p.subscribe()
		wantEvents(t, first, back(0, 1, 2)...)
		first.Close()
		s := p.subscribe()
		synctest.Wait()
		s.events = nil // the nodes may have been asked again
		p.publish(t, 2, "from 2")
		wantEvents(t, s, text(2))
		s.Close()
		synctest.Wait()
		if n, err := p.cluster.Raw()[2].PubSubNumSub(t.Context(), "x").Result(); err != nil || n["x"] != 0 {
			t.Errorf("the closed channel has %d subscribers, %v", n["x"], err)
		}
		other.Close()
	})
}

// A server may close the connection of a client that has no channels and sends nothing, so there is none.
func TestSubscribe_IsConnectedWhileThereAreChannels(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		none := p.cluster.Node(0).CurrentConnectionCount()
		for range 2 {
			s := p.subscribe()
			wantEvents(t, s, back(0, 1, 2)...)
			s.Close()
			synctest.Wait()
			if n := p.cluster.Node(0).CurrentConnectionCount() - none; n > 0 {
				t.Errorf("%d connections without a channel", n)
			}
		}
	})
}

// A node that denies one channel publishes on the others all the time, and is asked for the denied one again.
func TestSubscribe_BesideADeniedChannel(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		var denials atomic.Int32
		p.cluster.SetPreHook(0, func(peer *server.Peer, cmd string, args ...string) bool {
			if cmd == "SUBSCRIBE" && slices.Contains(args, "denied") && denials.Add(1) < 4 {
				peer.WriteError("NOPERM No permissions to access a channel")
				return true
			}
			return false
		})
		var ends []time.Time
		began := time.Now()
		p.Subscribe("denied", func(e notify.Event) {
			if e.Node == 0 {
				ends = append(ends, time.Now())
			}
		})
		s := p.subscribe()
		wantEvents(t, s, back(0, 1, 2)...)
		for range 40 { // until after the third denial
			p.publish(t, 0, "from 0")
			wantEvents(t, s, text(0))
			time.Sleep(100 * time.Millisecond)
		}
		if len(ends) != 1 || ends[0].Sub(began) != 3*denied {
			t.Errorf("the node is back on the denied channel at %v, want once, after %v", ends, 3*denied)
		}
	})
}
