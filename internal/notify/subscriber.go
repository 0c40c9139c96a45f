package notify

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/bounded"
	"github.com/redlockfx/redlockfx/internal/plain"
	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// subscriber has a connection to one node while there are channels.
type subscriber struct {
	notifier *Notifier
	node     int
	client   redis.UniversalClient
	changed  signal.Signal // that there are channels to look at again

	// Guarded by notifier.mu.
	started bool
	has     map[string]bool // channels that the node was asked for, and whether it has confirmed them
	again   map[string]bool // channels to look at again: all that has lacks, or has although nobody wants them
}

func (s *subscriber) changeLocked(channel string) {
	if !s.started {
		s.started = s.notifier.config.Start(s.run) // run first waits for the lock that is held here
	}
	s.again[channel] = true
	s.changed.Set()
}

// maxAway is the longest pause between attempts to subscribe on a node that is away. Longer: after a long outage, messages
// of the node come again later; until then, waiting processes are in the lists of other nodes, and ask when a hold must
// have ended. Shorter: a node that is gone for good is dialed that often by every process.
const maxAway = 5 * time.Second

// quiet is how long a node may be silent until it is asked for an answer. A router or a proxy may have forgotten the
// connection, which nothing else would show. Longer: what the node publishes is missed for that long, and those who wait
// learn of a release only when the hold must have ended. Shorter: each process asks each node that often.
const quiet = 50 * time.Second

// run connects whenever there are channels, until the Notifier stops.
func (s *subscriber) run() {
	c := s.notifier.config
	away := retry.Backoff{Min: 10 * time.Millisecond, Max: maxAway}
	failures := 0
	for {
		err := bounded.Call(s.connect)
		if c.Open.Err() != nil {
			return
		}
		received := s.lose()
		if err == nil {
			failures = 0
			select {
			case <-s.changed:
			case <-c.Open.Done():
			}
			continue
		}
		if received {
			failures = 0
		}
		failures++
		c.Seen(s.node, plain.Error(err))
		pause := away.After(failures)
		if _, answered := errors.AsType[redis.Error](err); answered {
			pause = c.Denied
		}
		_ = retry.Sleep(c.Open, pause)
	}
}

// connect subscribes to the channels. It returns nil when there are none, and an error when the connection breaks.
func (s *subscriber) connect() error {
	c := s.notifier.config
	link := s.client.Subscribe(c.Open) // it connects with the first channel
	broken, refused := make(chan error, 1), signal.New()
	var receiving sync.WaitGroup
	defer receiving.Wait()
	defer link.Close() // receive ends
	var later <-chan time.Time
	for connected := false; ; connected = true {
		more, less, all := s.changes()
		if all == 0 {
			return nil
		}
		for _, channel := range more { // one by one: a refusal is of all channels in a command
			if err := link.Subscribe(c.Open, channel); err != nil {
				return err
			}
		}
		if len(less) > 0 {
			if err := link.Unsubscribe(c.Open, less...); err != nil {
				return err
			}
		}
		if !connected { // earlier, go-redis would connect twice
			receiving.Go(func() { broken <- s.receive(link, refused) })
		}
		select {
		case <-s.changed:
		case <-refused:
			if later == nil {
				later = time.After(c.Denied)
			}
		case <-later:
			later = nil
			s.askAgain()
		case err := <-broken:
			return err
		case <-c.Open.Done():
			return nil
		}
	}
}

// none is a channel that nobody subscribes to. A node confirms the end of a subscription to it, whatever the user's rights
// to channels are, and so shows that the connection works. PING would need one more right.
const none = "none"

// receive passes on what the node publishes, and whether it refuses channels, until the connection breaks.
func (s *subscriber) receive(link *redis.PubSub, refused signal.Signal) error {
	n := s.notifier
	limit := quiet
	for {
		var message any
		err := bounded.Call(func() (err error) {
			message, err = link.ReceiveTimeout(n.config.Open, limit)
			return err
		})
		if errors.Is(err, os.ErrDeadlineExceeded) && limit == quiet {
			limit = n.config.Timeout // for the answer
			if err = link.Unsubscribe(n.config.Open, none); err == nil {
				continue
			}
		}
		asked := limit != quiet
		limit = quiet
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				s.confirm(m.Channel)
			}
			n.config.Seen(s.node, nil)
		case *redis.Message:
			s.message(m)
		}
		switch _, answered := errors.AsType[redis.Error](err); {
		case asked && answered: // so the connection works
			refused.Set() // in case it answers an earlier SUBSCRIBE
		case refusal.Code(err) == refusal.NoPerm:
			n.config.Seen(s.node, plain.Error(err))
			refused.Set()
		case err != nil:
			return err
		}
	}
}

// changes returns the channels to subscribe to and those to unsubscribe from, and how many the node then has.
func (s *subscriber) changes() (more, less []string, all int) {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	for channel := range s.again {
		_, has := s.has[channel]
		wanted := n.subs[channel] != nil
		switch {
		case wanted && !has:
			more = append(more, channel)
			s.has[channel] = false
		case !wanted && has:
			less = append(less, channel)
			delete(s.has, channel)
		}
	}
	s.again = make(map[string]bool) // an emptied large one would be slow
	return more, less, len(s.has)
}

// confirm records that the node has confirmed a channel.
func (s *subscriber) confirm(channel string) {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, has := s.has[channel]; has {
		s.has[channel] = true
	}
	n.tellLocked(channel, Event{Node: s.node, Back: true})
}

func (s *subscriber) message(m *redis.Message) {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tellLocked(m.Channel, Event{Node: s.node, Text: m.Payload})
}

// askAgain has the node asked again for the channels that it has not confirmed.
func (s *subscriber) askAgain() {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	for channel, confirmed := range s.has {
		if !confirmed {
			delete(s.has, channel)
			s.again[channel] = true
		}
	}
}

// lose records that there is no connection. It reports whether there was one on which messages were received.
func (s *subscriber) lose() (received bool) {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	for channel, confirmed := range s.has {
		s.again[channel] = true
		received = received || confirmed
	}
	s.has = make(map[string]bool)
	return received
}
