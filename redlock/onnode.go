package redlock

import (
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// awayAfter is for how long a node fails before it is called away: one slow answer, or the connections of before, are no news.
const awayAfter = time.Second

// listener is one call of OnNode.
type listener struct {
	news chan struct{} // holds one signal that a node fails or works again
	done chan struct{} // closed when nothing more is to be told
}

// OnNode has fn called when a node has failed for a second, or for the time between two calls if that is longer, with the
// latest error; and with nil when it works again. It is also told of the nodes that fail already. The calls come one after
// the other, on a goroutine of their own: if fn blocks, only later ones wait. fn may call any method of the Locker but Close,
// which waits for it. No call begins after stop has returned; one under way may still go on.
func (l *Locker) OnNode(fn func(node string, err error)) (stop func()) {
	o, s := l.observed, &listener{make(chan struct{}, 1), make(chan struct{})}
	s.news <- struct{}{}
	o.mu.Lock()
	o.listeners[s] = struct{}{}
	o.mu.Unlock()
	l.start(func() { l.listenTo(s, fn) }) // ends with stop, or when Close begins, which waits for it
	return sync.OnceFunc(func() {
		o.mu.Lock()
		delete(o.listeners, s)
		o.mu.Unlock()
		close(s.done)
	})
}

// listenTo tells fn what it does not know yet, each time that there are news.
func (l *Locker) listenTo(s *listener, fn func(node string, err error)) {
	told := make([]error, l.size)
	for {
		select {
		case <-s.news:
		case <-s.done:
			return
		case <-l.open.Done():
			return
		}
		for i, err := range l.observed.away() {
			if (err == nil) == (told[i] == nil) {
				continue
			}
			if l.open.Err() != nil || !l.observed.call(s, func() { fn(l.quorum.Addr(i), err) }) {
				return
			}
			told[i] = err
		}
	}
}

// call calls fn unless the listener is stopped: then it returns false.
func (o *observed) call(s *listener, fn func()) bool {
	o.mu.Lock()
	_, listens := o.listeners[s]
	if listens {
		o.calling++
	}
	o.mu.Unlock()
	if !listens {
		return false
	}
	defer func() {
		o.mu.Lock()
		o.calling--
		o.mu.Unlock()
	}()
	fn()
	return true
}

// isCalling reports that a listener has not returned.
func (o *observed) isCalling() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calling > 0
}

// away is how each node fails; nil: it works.
func (o *observed) away() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]error, len(o.nodes))
	for i := range o.nodes {
		all[i] = o.nodes[i].away
	}
	return all
}

// noteAwayLocked notes how a call or a subscription went, and tells the listeners if it is news that the node is away, or is
// back.
func (o *observed) noteAwayLocked(s *nodeState, kind int, err error) {
	_, answered := errors.AsType[redis.Error](err)
	switch {
	case kind == inFitness, kind == inPush && answered: // it is there, but subscribing is not permitted
		return
	case err == nil:
		s.failing = time.Time{}
	case s.failing.IsZero():
		s.failing = time.Now()
	}
	known := s.away != nil
	if known == (err != nil) || err != nil && time.Since(s.failing) < awayAfter {
		return
	}
	s.away = err
	for listener := range o.listeners {
		select {
		case listener.news <- struct{}{}:
		default: // it is signalled already
		}
	}
}
