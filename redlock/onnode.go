package redlock

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// awayAfter is how long a node must fail before it is reported. One slow answer or stale connections are not worth a
// report.
const awayAfter = time.Second

// listener is one call of OnNode.
type listener struct {
	changed signal.Signal // that a node fails or works again
	done    chan struct{} // closed by stop
}

// OnNode calls fn with the latest error when a node has failed for a second, or for the time between two calls if that
// is longer, and with nil when it works again. A node that sends fencing numbers ahead of the clocks, which count only
// if a majority has them, counts as failing until it has sent none for a minute. fn is also called for nodes that are
// already failing. The calls come one after the other on their own goroutine; if fn blocks, only later calls wait. fn
// may call any method of the Locker except Close, which waits for it. No call starts after stop has returned; one under
// way may still be running.
func (l *Locker) OnNode(fn func(node string, err error)) (stop func()) {
	o, s := l.observed, &listener{signal.New(), make(chan struct{})}
	s.changed.Set()
	o.mu.Lock()
	o.listeners[s] = struct{}{}
	o.mu.Unlock()
	l.start(func() { l.listenTo(s, fn) }) // ends with stop or when Close starts; Close waits for it
	return sync.OnceFunc(func() {
		o.mu.Lock()
		delete(o.listeners, s)
		o.mu.Unlock()
		close(s.done)
	})
}

// listenTo calls fn with every change that it has not reported yet.
func (l *Locker) listenTo(s *listener, fn func(node string, err error)) {
	reported := make([]error, l.size)
	for {
		var again <-chan time.Time
		if slices.ContainsFunc(reported, func(err error) bool { return err != nil }) {
			again = time.After(l.settings.TTL)
		}
		select {
		case <-s.changed:
		case <-again:
			l.probe(reported)
			continue
		case <-s.done:
			return
		case <-l.open.Done():
			return
		}
		for i, err := range l.observed.away() {
			if (err == nil) == (reported[i] == nil) {
				continue
			}
			if l.open.Err() != nil || !l.observed.call(s, func() { fn(l.quorum.Addr(i), err) }) {
				return
			}
			reported[i] = err
		}
	}
}

// probe asks the nodes that are reported as failing, since the Locker may have no other reason to ask them again. Their
// answers signal the listeners.
func (l *Locker) probe(failing []error) {
	for i, err := range failing {
		if err != nil {
			quorum.Prepare(l.quorum, i, l.commands.inspect.Call(nil)).Send()
		}
	}
}

// call calls fn, or returns false if the listener is stopped.
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

// isCalling reports whether a function of a listener is still running.
func (o *observed) isCalling() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calling > 0
}

// away returns the failure of each node, nil for nodes that work.
func (o *observed) away() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]error, len(o.nodes))
	for i := range o.nodes {
		all[i] = cmp.Or(o.nodes[i].away, o.nodes[i].wrong)
	}
	return all
}

// noteAwayLocked records the outcome of a call or a subscription, and signals the listeners if the node now fails or
// works again.
func (o *observed) noteAwayLocked(s *nodeState, kind int, err error) {
	_, answered := errors.AsType[redis.Error](err)
	switch {
	case kind == inFitness, kind == inPush && answered: // the node is reachable, but does not permit subscribing
		return
	case errors.Is(err, quorum.ErrNoConnection): // it says nothing about the node, which was not asked
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
	o.signalLocked()
}

// signalLocked wakes the listeners.
func (o *observed) signalLocked() {
	for listener := range o.listeners {
		listener.changed.Set()
	}
}
