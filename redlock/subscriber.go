package redlock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// subscriber is the subscription at one node.
type subscriber struct {
	push    *push
	node    int
	client  redis.UniversalClient
	changed chan struct{} // holds one signal that other names are to be listened to
	refused atomic.Bool   // a subscription was answered with an error: go-redis does not repeat it
}

func (s *subscriber) change() {
	select {
	case s.changed <- struct{}{}:
	default: // it is signalled already
	}
}

// run keeps the subscription at what is asked for until the Locker closes. Its receiving half ends
// with it.
func (s *subscriber) run() {
	l := s.push.locker
	<-s.changed
	link := s.client.Subscribe(l.open)
	stop := context.AfterFunc(l.open, func() { _ = link.Close() }) // ends a Receive under way
	defer stop()
	defer link.Close()
	var receiving sync.WaitGroup
	defer receiving.Wait()

	have := make(map[string]*topic)
	s.update(link, have)
	receiving.Go(func() { s.receive(link) })
	for {
		select {
		case <-s.changed:
			s.update(link, have)
		case <-l.open.Done():
			return
		}
	}
}

// update subscribes and unsubscribes. An error is no concern here: go-redis does what was asked for
// when it connects again, and receive sees why it had to.
func (s *subscriber) update(link *redis.PubSub, have map[string]*topic) {
	l := s.push.locker
	if s.refused.Swap(false) {
		clear(have)
	}
	want := s.push.names()
	var more, less []string
	for name, topic := range want {
		if have[name] != topic {
			have[name] = topic
			more = append(more, l.lockKey(name))
		}
	}
	for name := range have {
		if want[name] == nil {
			delete(have, name)
			less = append(less, l.lockKey(name))
		}
	}
	if len(more) > 0 {
		_ = link.Subscribe(l.open, more...)
	}
	if len(less) > 0 {
		_ = link.Unsubscribe(l.open, less...)
	}
}

// receive hands on what the node tells until the Locker closes.
func (s *subscriber) receive(link *redis.PubSub) {
	l := s.push.locker
	away := retry.Backoff{Min: 10 * time.Millisecond, Max: time.Second}
	denied := max(l.settings.TTL, time.Second) // nodes hardly think better of it soon
	failures, broken := 0, false
	prefix := len(l.lockKey(""))
	for l.open.Err() == nil {
		message, err := link.Receive(l.open)
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				s.push.confirm(s.node, m.Channel[prefix:], broken)
			}
			failures = 0
			l.observeFailure(s.node, inPush, "subscribe", nil)
		case *redis.Message:
			s.push.tell(s.node, m.Channel[prefix:], m.Payload)
			failures = 0
		}
		if err != nil && l.open.Err() == nil {
			failures++
			broken = true
			l.observeFailure(s.node, inPush, "subscribe", err)
			// The loop looks at open itself.
			if _, answered := errors.AsType[redis.Error](err); answered {
				_ = retry.Sleep(l.open, denied)
				s.refused.Store(true)
				s.change()
			} else {
				_ = retry.Sleep(l.open, away.After(failures))
			}
		}
	}
}
