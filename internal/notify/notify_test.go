package notify_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/notify"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// process is a process with subscriptions to nodes.
type process struct {
	*notify.Notifier
	*nodetest.Links
	cluster *nodetest.Cluster
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
		n := notify.New(links.Clients(), notify.Config{
			Open: open, Start: func(fn func()) bool { tasks.Go(fn); return true },
			Timeout: 100 * time.Millisecond, Denied: time.Second, Seen: func(int, error) {},
		})
		test(t, &process{n, links, c})
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

// wantEvents fails the test unless these are the events that the subscription has had since the last call.
func wantEvents(t *testing.T, s *subscription, want ...notify.Event) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if fmt.Sprint(s.events) != fmt.Sprint(want) {
		t.Errorf("got events %v, want %v", s.events, want)
	}
	s.events = nil
}

func text(node int) notify.Event {
	return notify.Event{Kind: notify.Message, Node: node, Text: fmt.Sprint("from ", node)}
}

// A node that goes away is reported once, and again when it is back. The others' messages still come.
func TestSubscribe_ReportsEachNodeThatIsAway(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		s := p.subscribe()
		<-s.Ready()
		p.Cut(1)
		time.Sleep(time.Minute) // it tries to connect again and again
		wantEvents(t, s, notify.Event{Kind: notify.Lost, Node: 1, Others: 2})
		for node := range 3 {
			p.publish(t, node, fmt.Sprint("from ", node))
		}
		wantEvents(t, s, text(0), text(2))
		p.Heal()
		time.Sleep(6 * time.Second) // more than the longest pause between two dials
		wantEvents(t, s, notify.Event{Kind: notify.Back, Node: 1, Others: 2})
		p.publish(t, 1, "from 1")
		wantEvents(t, s, text(1))
	})
}

// What was published while no node was connected is lost, and the first one that is back says so.
func TestSubscribe_ReportsThatAllMessagesMayHaveBeenMissed(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		s := p.subscribe()
		<-s.Ready()
		p.Cut()
		time.Sleep(time.Minute)
		p.publish(t, 2, "lost")
		s.events = nil // the nodes are lost
		p.Heal()
		time.Sleep(6 * time.Second) // more than the longest pause between two dials
		synctest.Wait()
		for i, e := range s.events {
			if e.Kind != notify.Back || e.Others != i || e.IsNews() != (i == 0) {
				t.Errorf("event %d is %+v, news: %v", i, e, e.IsNews())
			}
		}
		if len(s.events) != 3 {
			t.Errorf("there were %d events, want one of each node", len(s.events))
		}
	})
}

// A caller that could not wait for the confirmation may have missed what was published before it.
func TestSubscribe_ThatIsConfirmedLateReportsMissedMessages(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		p.Cut() // it must not be confirmed before Late
		s := p.subscribe()
		time.Sleep(time.Second)
		if s.IsReady() {
			t.Error("it is ready, though no node has confirmed it")
		}
		s.Late()
		<-s.Ready()
		p.Heal(2)
		time.Sleep(6 * time.Second) // more than the longest pause between two dials
		wantEvents(t, s, notify.Event{Kind: notify.Back, Node: 2})
	})
}

// A message may come from any node, so all that are not away must have confirmed.
func TestSubscribe_IsReadyWhenAllNodesHaveConfirmedOrAreAway(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		p.Delay(20*time.Millisecond, 0)
		p.Cut(1)
		s := p.subscribe()
		time.Sleep(10 * time.Millisecond)
		if s.IsReady() {
			t.Error("it is ready, but node 0 cannot have confirmed it")
		}
		time.Sleep(time.Second)
		if !s.IsReady() {
			t.Error("it is not ready, but only the node that is away has not confirmed it")
		}
		p.publish(t, 0, "from 0")
		time.Sleep(20 * time.Millisecond)
		wantEvents(t, s, text(0))
	})
}

// The second subscription to a channel is confirmed as well, and goes on when the first is closed.
func TestSubscribe_ToAChannelThatIsSubscribedTo(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		first := p.subscribe()
		<-first.Ready()
		second := p.subscribe()
		<-second.Ready()
		first.events = nil // the nodes confirmed once more
		first.Close()
		first.Close() // does nothing
		p.publish(t, 2, "from 2")
		wantEvents(t, first)
		wantEvents(t, second, text(2))
	})
}

func TestSubscribe_ToAChannelThatWasJustClosed(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		first := p.subscribe()
		<-first.Ready()
		first.Close()
		s := p.subscribe()
		<-s.Ready()
		p.publish(t, 2, "from 2")
		wantEvents(t, s, text(2))
		s.Close()
		synctest.Wait()
		if n, err := p.cluster.Raw()[2].PubSubNumSub(t.Context(), "x").Result(); err != nil || n["x"] != 0 {
			t.Errorf("the closed channel has %d subscribers, %v", n["x"], err)
		}
	})
}
