package notify

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/bounded"
	"github.com/redlockfx/redlockfx/internal/plain"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// subscriber is the connection to one node. It connects when the first channel is wanted.
type subscriber struct {
	notifier *Notifier
	node     int
	client   redis.UniversalClient
	changed  signal.Signal // that channels may have to be subscribed to or unsubscribed from

	started bool // guarded by notifier.mu
}

func (s *subscriber) changeLocked() {
	if !s.started {
		s.started = s.notifier.config.Start(s.run) // run first waits for the lock that is held here
	}
	s.changed.Set()
}

// changes returns the channels to subscribe to and those to unsubscribe from, given those that the node was asked for.
func (s *subscriber) changes(has map[string]bool) (more, less []string) {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	for channel, subs := range n.subs {
		is := false
		for _, sub := range subs {
			if sub.nodes[s.node] == wanted {
				sub.nodes[s.node], is = asked, true
			}
		}
		if is {
			more, has[channel] = append(more, channel), true
		}
	}
	for channel := range has {
		if n.subs[channel] == nil {
			less = append(less, channel)
			delete(has, channel)
		}
	}
	return more, less
}

// run subscribes to the wanted channels until the Notifier stops. It waits for the receiving goroutine.
func (s *subscriber) run() {
	open := s.notifier.config.Open
	link := s.client.Subscribe(open)
	stop := context.AfterFunc(open, func() { _ = link.Close() }) // ends a Receive under way
	defer stop()
	defer link.Close()
	var receiving sync.WaitGroup
	defer receiving.Wait()

	started, has := false, make(map[string]bool)
	for {
		select {
		case <-s.changed:
			// Errors are ignored: go-redis repeats the subscriptions when it reconnects, and receive reports the failure.
			more, less := s.changes(has)
			if len(more) > 0 {
				_ = link.Subscribe(open, more...)
			}
			if len(less) > 0 {
				_ = link.Unsubscribe(open, less...)
			}
			if !started {
				started = true
				receiving.Go(func() { s.receive(link) })
			}
		case <-open.Done():
			return
		}
	}
}

// maxAway is the longest pause between attempts to subscribe on a node that is away. Longer: after a long outage, messages
// of the node come again later; until then, waiting processes are in the lists of other nodes, and ask when a hold must
// have ended. Shorter: a node that is gone for good is dialed that often by every process.
const maxAway = 5 * time.Second

// receive passes on what the node publishes, until the Notifier stops.
func (s *subscriber) receive(link *redis.PubSub) {
	n := s.notifier
	open := n.config.Open
	away := retry.Backoff{Min: 10 * time.Millisecond, Max: maxAway}
	failures := 0
	for open.Err() == nil {
		var message any
		err := bounded.Call(func() (err error) {
			message, err = link.Receive(open)
			return err
		})
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				n.confirm(s.node, m.Channel)
			}
			failures = 0
			n.config.Seen(s.node, nil)
		case *redis.Message:
			n.message(s.node, m.Channel, m.Payload)
			failures = 0
		}
		if err == nil || open.Err() != nil {
			continue
		}
		failures++
		n.lose(s.node)
		n.config.Seen(s.node, plain.Error(err))
		if _, answered := errors.AsType[redis.Error](err); answered {
			_ = retry.Sleep(open, n.config.Denied) // the loop checks open
			n.askAgain(s.node)                     // go-redis does not
		} else {
			_ = retry.Sleep(open, away.After(failures))
		}
	}
}
