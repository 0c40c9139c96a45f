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

// subscriber is the connection to one node. It is made when the first channel is wanted there.
type subscriber struct {
	notifier *Notifier
	node     int
	client   redis.UniversalClient
	changed  chan struct{} // holds one signal that other channels are wanted
	refused  atomic.Bool   // a subscription was answered with an error: go-redis does not repeat it

	// Guarded by notifier.mu.
	started bool
	want    map[string]bool // the channels that are wanted
	more    []string        // those that were added since the last update
	less    []string        // those that were removed
}

// wantLocked adds a channel to those that are wanted, or removes it.
func (s *subscriber) wantLocked(name string, yes bool) {
	if yes {
		s.want[name] = true
		s.more = append(s.more, name)
	} else {
		delete(s.want, name)
		s.less = append(s.less, name)
	}
	if !s.started {
		s.started = s.notifier.config.Start(s.run) // run reads what is wanted once it gets the lock
	}
	s.change()
}

func (s *subscriber) change() {
	select {
	case s.changed <- struct{}{}:
	default: // it is signalled already
	}
}

// changes takes what was added and removed since the last update. After a refusal it takes all channels that are
// wanted, to request them again.
func (s *subscriber) changes() (more, less []string) {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	if s.refused.Swap(false) {
		s.more = s.more[:0]
		for name := range s.want {
			s.more = append(s.more, name)
		}
	}
	// If a channel was added and removed, or removed and added, only its present state counts.
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

// run keeps the subscription at what is wanted until Open is done. The receiving goroutine ends with it.
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
			// Errors do not matter here: go-redis repeats the request when it connects again, and receive sees the
			// reason.
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

// receive passes on what the node publishes until Open is done.
func (s *subscriber) receive(link *redis.PubSub) {
	n := s.notifier
	open := n.config.Open
	away := retry.Backoff{Min: 10 * time.Millisecond, Max: time.Second}
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
				n.confirmed(s.node, m.Channel)
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
		n.away(s.node)
		n.config.Seen(s.node, plain.Error(err))
		if _, answered := errors.AsType[redis.Error](err); answered {
			_ = retry.Sleep(open, n.config.Denied) // the loop looks at open itself
			s.refused.Store(true)
			s.change()
		} else {
			_ = retry.Sleep(open, away.After(failures))
		}
	}
}
