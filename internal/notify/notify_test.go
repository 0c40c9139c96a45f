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

var order = []int{2, 0, 1}

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

// wantEvents fails the test unless these are the events that the subscription has had since the last call.
func wantEvents(t *testing.T, s *notify.Subscription, want ...notify.Event) {
	t.Helper()
	synctest.Wait()
	var got []notify.Event
	for e, ok := s.Next(); ok; e, ok = s.Next() {
		got = append(got, e)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got events %v, want %v", got, want)
	}
}

func TestSubscribe_UsesTheFirstTwoNodesOfTheOrder(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		s := p.Subscribe("x", order)
		<-s.Ready()
		synctest.Wait()
		for node := range 3 {
			p.publish(t, node, fmt.Sprint("from ", node))
		}
		wantEvents(t, s, notify.Event{Node: 0, Text: "from 0"}, notify.Event{Node: 2, Text: "from 2"})
	})
}

func TestSubscribe_AddsTheNextNodeWhenOneGoesAway(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		s := p.Subscribe("x", order)
		<-s.Ready()
		synctest.Wait()
		p.Cut(2)
		time.Sleep(time.Second)
		p.publish(t, 1, "from 1")
		wantEvents(t, s, notify.Event{Node: 1, Text: "from 1"})
	})
}

// A private channel is subscribed to on all nodes. A node that goes away is reported once, and again when it is back.
func TestSubscribeAll_ReportsEachNodeThatIsAway(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		s := p.SubscribeAll("x")
		<-s.Ready()
		synctest.Wait()
		for node := range 3 {
			p.publish(t, node, fmt.Sprint("from ", node))
		}
		wantEvents(t, s, notify.Event{Node: 0, Text: "from 0"}, notify.Event{Node: 1, Text: "from 1"},
			notify.Event{Node: 2, Text: "from 2"})
		p.Cut(1)
		time.Sleep(time.Minute) // it tries to connect again and again
		wantEvents(t, s, notify.Event{Node: 1, Missed: true})
		if s.Receives(1) || !s.Receives(0) || !s.Receives(2) {
			t.Errorf("receives from 0: %v, 1: %v, 2: %v; want all but 1", s.Receives(0), s.Receives(1), s.Receives(2))
		}
		p.Heal()
		time.Sleep(6 * time.Second) // more than the longest pause between two dials
		wantEvents(t, s, notify.Event{Node: 1, Missed: true})
		if !s.Receives(1) {
			t.Error("it does not receive from node 1 again")
		}
	})
}

// What was published while no node was connected is lost, and the subscription says so.
func TestSubscription_ReportsWhatItMayHaveMissed(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		s := p.Subscribe("x", order)
		<-s.Ready()
		synctest.Wait()
		p.Cut()
		time.Sleep(time.Minute)
		p.publish(t, 2, "lost")
		wantEvents(t, s)
		p.Heal()
		time.Sleep(6 * time.Second) // more than the longest pause between two dials
		synctest.Wait()
		e, ok := s.Next()
		if !ok || !e.Missed {
			t.Errorf("got event %+v, %v, want one that reports missed messages", e, ok)
		}
	})
}

func TestSubscription_ThatIsNotReadDelaysNobody(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		s, other := p.Subscribe("x", order), p.Subscribe("x", order)
		<-s.Ready()
		synctest.Wait()
		for i := range 100 {
			p.publish(t, 2, fmt.Sprint(i))
			if e, ok := other.Next(); !ok || e.Text != fmt.Sprint(i) {
				t.Fatalf("got event %+v, want text %d", e, i)
			}
		}
		if e, _ := s.Next(); !e.Missed {
			t.Errorf("the first event of a hundred is %+v, want one that reports missed messages", e)
		}
	})
}

// A caller that could not wait for the confirmation may have missed what was published before it.
func TestSubscribe_ThatIsConfirmedLateReportsMissedMessages(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		p.Cut() // it must not be confirmed before Late
		s := p.Subscribe("x", order)
		s.Late()
		p.Heal()
		<-s.Ready()
		if e, ok := s.Next(); !ok || !e.Missed {
			t.Errorf("the first event is %+v, want one that reports missed messages", e)
		}
	})
}

func isReady(s *notify.Subscription) bool {
	select {
	case <-s.Ready():
		return true
	default:
		return false
	}
}

// A message may come from any of its nodes, so all of them must have confirmed.
func TestSubscribe_IsReadyWhenAllItsNodesHaveConfirmed(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		p.Delay(20*time.Millisecond, 0)
		s := p.Subscribe("x", order)
		time.Sleep(10 * time.Millisecond)
		if isReady(s) {
			t.Error("it is ready, but node 0 cannot have confirmed it")
		}
		time.Sleep(time.Second)
		<-s.Ready()
		p.publish(t, 0, "from 0")
		time.Sleep(20 * time.Millisecond)
		wantEvents(t, s, notify.Event{Node: 0, Text: "from 0"})
	})
}

// Channels without a subscription are kept for a while. A channel that was dropped is subscribed to again when it is wanted.
func TestSubscribe_ToAChannelThatWasJustDropped(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		first := p.Subscribe("x", order)
		<-first.Ready()
		first.Close()
		for i := range 100 {
			p.Subscribe(fmt.Sprint(i), order).Close()
		}
		s := p.Subscribe("x", order)
		if isReady(s) {
			t.Error("the channel was not dropped")
		}
		<-s.Ready()
		synctest.Wait()
		p.publish(t, 2, "again")
		wantEvents(t, s, notify.Event{Node: 2, Text: "again"})
	})
}

func TestSubscribe_ToAChannelThatIsKeptIsReadyAtOnce(t *testing.T) {
	run(t, func(t *testing.T, p *process) {
		first := p.Subscribe("x", order)
		<-first.Ready()
		first.Close()
		first.Close() // does nothing
		if !isReady(p.Subscribe("x", order)) {
			t.Error("it is not ready, but a node has confirmed the channel before")
		}
	})
}
