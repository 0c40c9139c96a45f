package notify

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/bounded"
	"github.com/redlockfx/redlockfx/internal/plain"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// subscriber is the connection to one node. It connects when the first channel is wanted.
type subscriber struct {
	notifier *Notifier
	node     int
	client   redis.UniversalClient
	changed  chan struct{} // holds a token if the wanted channels have changed
	refused  atomic.Bool   // the node answered a subscription with an error; go-redis does not repeat it

	// Guarded by notifier.mu.
	started bool
	want    map[string]bool // the wanted channels
	more    []string        // those added since the last update
	less    []string        // those removed since
}

// wantLocked adds a channel to the wanted ones, or removes it.
func (s *subscriber) wantLocked(name string, yes bool) {
	if yes {
		s.want[name] = true
		s.more = append(s.more, name)
	} else {
		delete(s.want, name)
		s.less = append(s.less, name)
	}
	if !s.started {
		s.started = s.notifier.config.Start(s.run) // run first waits for the lock that is held here
	}
	s.change()
}

func (s *subscriber) change() {
	select {
	case s.changed <- struct{}{}:
	default: // it has a token already
	}
}

// changes returns the channels to subscribe to and those to unsubscribe from since the last call. After a refusal, it
// returns all wanted channels.
func (s *subscriber) changes() (more, less []string) {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	if s.refused.Swap(false) {
		s.more = s.more[:0]
		for name := range s.want {
			s.more = append(s.more, name)
		}
	}
	// A channel may be in both lists. What it is now counts.
	for _, name := range s.more {
		if s.want[name] {
			more = append(more, name)
		}
	}
	for _, name := range s.less {
		if !s.want[name] {
			less = append(less, name)
		}
	}
	s.more, s.less = nil, nil
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

	started := false
	for {
		select {
		case <-s.changed:
			// Errors are ignored: go-redis repeats the subscriptions when it reconnects, and receive reports the failure.
			more, less := s.changes()
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
			s.refused.Store(true)
			s.change()
		} else {
			_ = retry.Sleep(open, away.After(failures))
		}
	}
}
